/**
 * The base of every handler: responses, errors as responses, observability around a handler, the context of the
 * current request, and the small parts that other areas share (retry, backoff, clock, deadline).
 *
 * @example
 * ```ts
 * import { buildValidatedResponse, withObservability } from "@trellis/fn/core";
 * import { createLambdaContext } from "@trellis/fn/testing";
 *
 * const handler = withObservability(
 *   (_event: unknown, context) => buildValidatedResponse(context, 200, { ok: true }),
 *   { operationName: "Health", logging: { level: "SILENT" }, metrics: false },
 * );
 * console.log((await handler({}, createLambdaContext())).body); // {"ok":true}
 * ```
 *
 * @module
 */
export { getHeader, getPath, getQueryString, readRawBody } from "./http/api_event.ts";
export { type ClientAddressSource, getClientAddress } from "./http/client_address.ts";
export { cacheControl, type CacheControlOptions } from "./http/cache_control.ts";
export type { EtagOption, ResourceVersion } from "./http/entity_tag.ts";
export { type Clock } from "./async/clock.ts";
export { type CorsOption } from "./http/cors.ts";
export type { SecurityHeadersOption } from "./http/security_headers.ts";
export { buildErrorResponse, type ErrorBody, type ErrorBodyFormat } from "./http/error_response.ts";
export type {
  AlbEvent,
  ApiEvent,
  AuthorizerContext,
  EventHeaders,
  HttpApiEvent,
  LambdaContext,
  ProxyResult,
  RestApiEvent,
} from "./http/lambda.ts";
export { type LoggingConfig } from "./logging_config.ts";
export { getRequestContext, type RequestContext } from "./request_context.ts";
export { buildValidatedResponse, type ResponseOptions } from "./http/response.ts";
export { undeclared } from "./http/response_origin.ts";
export { retry, type RetryOptions } from "./retry.ts";
export { type SessionDetails, type SessionResult, type UserDetails } from "./http/session.ts";
export { timingSafeEqual } from "./http/timing_safe_equal.ts";
export { getOutgoingHeaders } from "./http/trace_id.ts";
export { UserStatus } from "./http/user_status.ts";
export type { Flat } from "./flat.ts";
export type { ObservabilityOptions } from "./handler_settings.ts";
export {
  type LambdaHandler,
  type ObservedHandler,
  withObservability,
  type WrapperMetadata,
} from "./with_observability.ts";
