import { getHeader } from "../../core/http/api_event.ts";
import {
  allowCredentials,
  type CorsOption,
  createCorsHeaders,
  getErrorCorsHeaders,
  NO_CORS_HEADERS,
} from "../../core/http/cors.ts";
import type { ApiEvent } from "../../core/http/lambda.ts";
import type { AuthSettings } from "../config/config.ts";
import { listTrustedOrigins } from "../sessions/session_credential.ts";
import { isTrustedOrigin } from "../sessions/trusted_origin.ts";

type Headers = Readonly<Record<string, string>>;

/** The CORS headers of the auth routes. */
export interface AuthCors {
  /** Returns the headers for an event. They allow credentials if the origin is trusted. */
  getHeaders(event: ApiEvent, settings: AuthSettings): Promise<Headers>;
  /** Returns the headers of an error response. */
  getErrorHeaders(event: ApiEvent): Headers;
}

/**
 * Creates the CORS headers of the auth routes. Pages of trusted origins can send cookies and read
 * responses. Other origins that the option allows can read responses to requests without cookies.
 *
 * @param option The handler's option. `false` sends no headers.
 * @throws {ConfigurationError} If `CORS_ALLOW_ORIGIN` is invalid.
 */
export function createAuthCors(option: CorsOption | undefined): AuthCors {
  const getOtherHeaders = createCorsHeaders(option);
  const decided = new WeakMap<ApiEvent, Headers>();

  async function decide(event: ApiEvent, settings: AuthSettings): Promise<Headers> {
    if (option === false) return NO_CORS_HEADERS;
    const origin = getHeader(event, "Origin", "origin");
    const isTrusted = origin !== undefined &&
      isTrustedOrigin(origin, await listTrustedOrigins(event, settings));
    return isTrusted ? allowCredentials(origin) : { ...getOtherHeaders(event), Vary: "Origin" };
  }

  return {
    async getHeaders(event, settings) {
      const headers = await decide(event, settings);
      decided.set(event, headers);
      return headers;
    },
    getErrorHeaders(event) {
      return decided.get(event) ?? getErrorCorsHeaders(getOtherHeaders, event);
    },
  };
}
