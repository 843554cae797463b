import { getSource, isHttpApiEvent, isHttpEvent } from "../core/http/api_event.ts";
import { compressResult } from "../core/http/compression.ts";
import type { AuthMethod } from "../core/http/auth_method.ts";
import { CORRELATION_ID_HEADER, getCorrelationId } from "../core/http/correlation_id.ts";
import {
  type CorsOption,
  createCorsHeaders,
  getErrorCorsHeaders,
  NO_CORS_HEADERS,
} from "../core/http/cors.ts";
import { buildErrorResponse, type ErrorBodyFormat } from "../core/http/error_response.ts";
import type { ApiEvent, LambdaContext, ProxyResult } from "../core/http/lambda.ts";
import { buildPreflightResponse, isPreflight } from "../core/http/preflight.ts";
import {
  createSecurityHeaders,
  type SecurityHeadersOption,
} from "../core/http/security_headers.ts";
import { getRateLimitHeaders, type RateLimitOptions } from "../core/rate_limit/rate_limit.ts";
import { toGatewayResult } from "../core/http/proxy_result.ts";

/** Options of {@link createResponder}. */
export interface ResponderOptions {
  cors?: CorsOption;
  compress?: boolean;
  errorBody?: ErrorBodyFormat;
  rateLimit?: RateLimitOptions;
  securityHeaders?: SecurityHeadersOption;
}

/** The last step of a request. */
export interface Responder {
  /**
   * Answers a CORS preflight request. Returns `undefined` for other requests, and if the handler has
   * no CORS headers.
   */
  respondToPreflight(event: ApiEvent, correlationId?: string): ProxyResult | undefined;
  /** Adds the headers of every response, in the form that the gateway of the event expects. */
  respond(event: ApiEvent, result: ProxyResult, correlationId: string): ProxyResult;
  /** Builds the response to an error. Throws it if the event is no HTTP request. */
  respondToError(error: unknown, context: LambdaContext, event: ApiEvent): ProxyResult;
}

/**
 * Creates the functions that turn the result of a handler, or its error, into the response.
 *
 * @param options CORS and the form of error bodies.
 * @param method How the handler identifies its callers.
 * @returns The functions.
 * @throws {ConfigurationError} If `CORS_ALLOW_ORIGIN` is invalid.
 */
export function createResponder(
  { cors, compress, errorBody, rateLimit, securityHeaders }: ResponderOptions,
  { mode, isTrustedOrigin }: Pick<AuthMethod, "mode" | "isTrustedOrigin"> = { mode: "none" },
): Responder {
  const getSecurityHeaders = createSecurityHeaders(securityHeaders, mode !== "none");
  const getOwnHeaders = createCorsHeaders(cors, isTrustedOrigin);
  const getCorsHeaders = rateLimit === undefined
    ? getOwnHeaders
    : (event: ApiEvent) => ({ ...getOwnHeaders(event), ...getRateLimitHeaders(event) });

  function addHeaders(
    event: ApiEvent,
    result: ProxyResult,
    correlationId: string,
    corsHeaders: Readonly<Record<string, string>>,
  ): ProxyResult {
    const secure = getSecurityHeaders(event);
    const headers = { [CORRELATION_ID_HEADER]: correlationId, ...corsHeaders, ...secure };
    // RFC 9110, section 9.3.2
    const sent = isHead(event) ? { ...result, body: "", isBase64Encoded: false } : result;
    return toGatewayResult(event, getSource(event), sent, headers);
  }

  return {
    respondToPreflight(event, correlationId = getCorrelationId(event, undefined)) {
      if (!isPreflight(event)) return undefined;
      const corsHeaders = getOwnHeaders(event);
      if (corsHeaders === NO_CORS_HEADERS) return undefined;
      return addHeaders(event, buildPreflightResponse(event, corsHeaders), correlationId, {});
    },
    respond(event, result, correlationId) {
      const sent = compress ? compressResult(event, result) : result;
      return addHeaders(event, sent, correlationId, getCorsHeaders(event));
    },
    respondToError(error, context, event) {
      // to other triggers any response is a success
      if (!isHttpEvent(event)) throw error;
      const response = buildErrorResponse(context, error, errorBody);
      const correlationId = response.headers?.[CORRELATION_ID_HEADER] ??
        getCorrelationId(event, context);
      const corsHeaders = getErrorCorsHeaders(getCorsHeaders, event);
      return addHeaders(event, response, String(correlationId), corsHeaders);
    },
  };
}

/** Checks for a HEAD request. An event that cannot be read is none: its error is answered too. */
function isHead(event: ApiEvent): boolean {
  const method = isHttpApiEvent(event) ? event.requestContext?.http?.method : event.httpMethod;
  return method === "HEAD";
}
