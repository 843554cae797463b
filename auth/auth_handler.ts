import {
  getMethod,
  getPath,
  getQueryString,
  getSource,
  readRawBody,
} from "../core/http/api_event.ts";
import { encodeBase64 } from "../core/http/base64.ts";
import { extractBearerToken } from "../core/http/bearer_token.ts";
import { getClientAddress } from "../core/http/client_address.ts";
import { CORRELATION_ID_HEADER } from "../core/http/correlation_id.ts";
import { type CorsOption, createCorsHeaders, getErrorCorsHeaders } from "../core/http/cors.ts";
import { buildErrorResponse } from "../core/http/error_response.ts";
import type { ApiEvent, ProxyResult, RestApiEvent } from "../core/http/lambda.ts";
import type { LoggingConfig } from "../core/logging_config.ts";
import { toGatewayResult } from "../core/http/proxy_result.ts";
import { type LambdaHandler, withObservability } from "../core/with_observability.ts";
import { ServiceUnavailableError, ValidationError } from "../errors/http_errors.ts";
import { logWarn } from "../observability/logger.ts";
import type { StartedBetterAuth } from "./better_auth.ts";
import { readCookieHeader } from "./cookie_header.ts";
import { type BetterAuthInstance, getInternals } from "./instance.ts";
import { readSessionCookies } from "./session_cookies.ts";
import { readSessionToken } from "./session_token.ts";
import { isSessionActive } from "./sessions.ts";

/** Options of {@link createAuthHandler}. */
export interface AuthHandlerOptions {
  /**
   * Operation name in metrics and spans.
   * @default "Auth"
   */
  operationName?: string;
  /** Log settings. */
  logging?: LoggingConfig;
  /**
   * Allowed CORS origins.
   * @default CORS_ALLOW_ORIGIN
   */
  cors?: CorsOption;
}

/**
 * Creates the Lambda function for better-auth's routes: sign-up, sign-in, sign-out, callbacks of
 * identity providers. Mount it under `/api/auth/{proxy+}`, or under the path of `baseURL`, with any
 * method. It accepts events of REST APIs, HTTP APIs, function URLs and load balancers.
 *
 * @param getAuthInstance Returns the instance, such as `getConfiguredSessionAuth`.
 * @param options Operation name, log settings and CORS.
 * @returns The function to export.
 *
 * @example
 * ```ts
 * import { configureSessionAuth, createAuthHandler, getConfiguredSessionAuth } from "@trellis/fn/auth";
 * import { getDrizzleClient } from "@trellis/fn/database";
 *
 * configureSessionAuth(() => getDrizzleClient({ provider: "embedded-pg" }), {
 *   secret: "at-least-32-random-characters-0123456789",
 *   baseURL: "http://localhost:3000",
 * });
 * export const handler = createAuthHandler(getConfiguredSessionAuth);
 * ```
 */
export function createAuthHandler(
  getAuthInstance: () => BetterAuthInstance | Promise<BetterAuthInstance>,
  options: AuthHandlerOptions = {},
): LambdaHandler<ApiEvent, ProxyResult> {
  const corsHeaders = createCorsHeaders(options.cors);
  return withObservability<ApiEvent, ProxyResult>(
    async function serveAuthRoutes(event, _context, { correlationId }): Promise<ProxyResult> {
      const auth = await getAuthInstance();
      const { settings, start } = getInternals(auth);
      const request = toRequest(event, settings.baseURL);
      const library = await start();
      const response = await library.handler(request);
      if (response.ok && /\/sign-out$/.test(new URL(request.url).pathname)) {
        await checkSignedOut(auth, library, request.headers);
      }
      const extra = { [CORRELATION_ID_HEADER]: correlationId, ...corsHeaders(event) };
      return toGatewayResult(event, getSource(event), await toProxyResult(response), extra);
    },
    {
      operationName: options.operationName ?? "Auth",
      logging: options.logging,
      respondToError: (error, context, event) =>
        toGatewayResult(
          event,
          getSource(event),
          buildErrorResponse(context, error),
          getErrorCorsHeaders(corsHeaders, event),
        ),
    },
  );
}

/**
 * Ends all sessions of a sign-out request. better-auth answers 200 even if it could not delete the
 * session, and reads only the first of several session cookies.
 */
async function checkSignedOut(
  auth: BetterAuthInstance,
  library: StartedBetterAuth,
  headers: Headers,
): Promise<void> {
  const { secret } = getInternals(auth).settings;
  const bearer = extractBearerToken(headers.get("authorization"));
  const token = bearer === null ? undefined : await readSessionToken(bearer, secret);
  // better-auth reads cookies only without a valid token
  const tokens = token === undefined
    ? await readSessionCookies(headers.get("cookie"), library.sessionCookie, secret)
    : [token];
  for (const each of tokens) {
    if (!await isSessionActive(auth, each)) continue;
    await library.deleteSession(each).catch((error: unknown) =>
      logWarn("A session could not be deleted", { error })
    );
    if (await isSessionActive(auth, each)) {
      throw new ServiceUnavailableError("The session could not be ended. Try again");
    }
  }
}

/** Converts the event to a web request to `baseURL`. */
function toRequest(event: ApiEvent, baseURL: string): Request {
  const { origin, pathname } = new URL(baseURL);
  const query = getQueryString(event);
  const method = getMethod(event);
  const body = method === "GET" || method === "HEAD" ? undefined : readRawBody(event);
  try {
    return new Request(`${origin}${getRoutePath(event, pathname)}${query && `?${query}`}`, {
      method,
      headers: readHeaders(event),
      body: body?.byteLength ? body : undefined,
    });
  } catch (error) {
    throw new ValidationError("The request's method, path or headers are not valid", {
      cause: error,
    });
  }
}

/**
 * Returns the path including the stage, which a REST API omits from `path` although it is part of
 * the URL.
 */
function getRoutePath(event: ApiEvent, basePath: string): string {
  const path = getPath(event);
  const withStage = (event as RestApiEvent & { requestContext?: { path?: string } }).requestContext
    ?.path;
  const route = basePath !== "/" && !path.startsWith(basePath) && withStage?.startsWith(basePath)
    ? withStage
    : path;
  // an origin followed by `@example.com/` would be a request to another host
  return route.startsWith("/") ? route : `/${route}`;
}

function readHeaders(event: ApiEvent): Headers {
  const headers = new Headers();
  const several = (event as RestApiEvent).multiValueHeaders;
  for (const [name, value] of Object.entries(several ?? event.headers ?? {})) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (typeof item === "string") headers.append(name, item);
    }
  }
  const cookies = readCookieHeader(event);
  // `append` joins with commas, but cookies are separated by semicolons
  if (cookies !== undefined) headers.set("cookie", cookies);
  // better-auth uses this header for rate limits and in sessions, so it must not be set by the
  // client
  const address = getClientAddress(event);
  if (address === undefined) headers.delete("x-forwarded-for");
  else headers.set("x-forwarded-for", address);
  return headers;
}

async function toProxyResult(response: Response): Promise<ProxyResult> {
  const headers: Record<string, string> = {};
  for (const [name, value] of response.headers) if (name !== "set-cookie") headers[name] = value;
  const result: ProxyResult = { statusCode: response.status, headers, body: "" };
  const cookies = response.headers.getSetCookie();
  if (cookies.length > 0) result.cookies = cookies;
  const bytes = new Uint8Array(await response.arrayBuffer());
  const type = response.headers.get("content-type");
  result.isBase64Encoded = bytes.length > 0 && type !== null &&
    !/^text\/|json|xml|javascript/i.test(type);
  result.body = result.isBase64Encoded ? encodeBase64(bytes) : new TextDecoder().decode(bytes);
  return result;
}
