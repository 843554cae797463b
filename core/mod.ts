/**
 * What every handler stands on: responses, errors as responses, observability around a handler, the context of the
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
export {
  type ApiEventSource,
  authorizerOf,
  hasQuery,
  headerOf,
  isAlbEvent,
  isHttpApiEvent,
  methodOf,
  pathOf,
  pathParametersOf,
  queryOf,
  queryStringOf,
  readRawBody,
  sourceOf,
} from "./api_event.ts";
export { type BackoffOptions, fullJitterDelay } from "./backoff.ts";
export { extractBearerToken } from "./bearer_token.ts";
export { decodeBase64, encodeBase64 } from "./base64.ts";
export { getClientAddress } from "./client_address.ts";
export { type Clock, monotonicNow, systemClock } from "./clock.ts";
export { CORRELATION_ID_HEADER, correlationIdOf } from "./correlation_id.ts";
export { corsHeadersFor, corsHeadersOfError, type CorsOption, isCorsOption, NO_CORS_HEADERS } from "./cors.ts";
export { buildErrorResponse, type ErrorBody, type ErrorBodyFormat, errorResponseOf } from "./error_response.ts";
export {
  type AuthorizerDecision,
  type AuthorizerHandler,
  type AuthorizerHandlerFunction,
  type AuthorizerHandlerOptions,
  type AuthorizerHandlerParams,
  defineAuthorizerHandler,
} from "./handlers/authorizer.ts";
export type { AuthorizerRequest } from "./handlers/authorizer_request.ts";
export {
  defineEventHandler,
  type EventHandler,
  type EventHandlerFunction,
  type EventHandlerOptions,
  type EventHandlerParams,
} from "./handlers/event.ts";
export {
  defineQueueHandler,
  type QueueHandler,
  type QueueHandlerFunction,
  type QueueHandlerOptions,
  type QueueHandlerParams,
} from "./handlers/queue.ts";
export type { QueueEnvelope } from "./handlers/queue_message.ts";
export {
  defineScheduleHandler,
  type ScheduleHandler,
  type ScheduleHandlerFunction,
  type ScheduleHandlerOptions,
  type ScheduleHandlerParams,
} from "./handlers/schedule.ts";
export {
  defineStorageHandler,
  type StorageEvent,
  type StorageHandler,
  type StorageHandlerFunction,
  type StorageHandlerOptions,
  type StorageHandlerParams,
} from "./handlers/storage.ts";
export {
  defineTopicHandler,
  type TopicHandler,
  type TopicHandlerFunction,
  type TopicHandlerOptions,
  type TopicHandlerParams,
} from "./handlers/topic.ts";
export type {
  AuthorizerEvent,
  AuthorizerPolicyResult,
  AuthorizerResult,
  AuthorizerSimpleResult,
  EventBridgeEvent,
  HttpAuthorizerEvent,
  RequestAuthorizerEvent,
  S3Event,
  S3EventBridgeEvent,
  S3Record,
  S3TestEvent,
  ScheduleEvent,
  SnsEvent,
  SnsMessage,
  SnsMessageAttribute,
  SnsRecord,
  SqsBatchResult,
  SqsEvent,
  SqsMessageAttribute,
  SqsRecord,
  TokenAuthorizerEvent,
  WebSocketEvent,
  WebSocketEventType,
  WebSocketResult,
} from "./handlers/trigger_events.ts";
export type { AsyncTriggerOptions, TriggerHandler, TriggerOptions } from "./handlers/trigger_options.ts";
export {
  defineWebSocketHandler,
  type WebSocketConnectParams,
  type WebSocketDisconnectParams,
  type WebSocketHandler,
  type WebSocketHandlerFunction,
  type WebSocketHandlerOptions,
  type WebSocketHandlerParams,
  type WebSocketMessageParams,
} from "./handlers/websocket.ts";
export {
  checkDeadLetterQueue,
  checkRange,
  FUNCTION_RANGES,
  FUNCTION_RULES,
  type OptionRange,
  wholeNumber,
} from "./function_options.ts";
export type {
  AlbEvent,
  ApiEvent,
  AuthorizerContext,
  EventHeaders,
  HttpApiEvent,
  LambdaContext,
  ProxyResult,
  RestApiEvent,
} from "./lambda.ts";
export { checkLoggingConfig, type LoggingConfig } from "./logging_config.ts";
export {
  ANY_OPTION,
  BOOLEAN_OPTION,
  checkOptions,
  FUNCTION_OPTION,
  OBJECT_OPTION,
  oneOf,
  type OptionRule,
  type OptionRules,
} from "./option_rules.ts";
export { explainMissing, OPTIONAL_PACKAGES, type OptionalPackage } from "./optional_package.ts";
export { type JsonResult, parseJson } from "./parse_json.ts";
export { isFinished, shapeResult } from "./proxy_result.ts";
export { Refusal } from "./refusal.ts";
export { getRequestContext, remainingMs, type RequestContext } from "./request_context.ts";
export { buildValidatedResponse, type ResponseOptions } from "./response.ts";
export { retry, type RetryOptions } from "./retry.ts";
export {
  getSessionAuthenticator,
  type SessionAuthenticator,
  type SessionResult,
  setSessionAuthenticator,
  type UserDetails,
} from "./session_registry.ts";
export { SingleFlight } from "./single_flight.ts";
export { DatabaseOperation, type TablePermission, WHOLE_TABLE_COMMENT } from "./table_permission.ts";
export { timingSafeEqual } from "./timing_safe_equal.ts";
export { getOutgoingHeaders, traceContextOf } from "./trace_id.ts";
export { UserStatus } from "./user_status.ts";
export {
  type LambdaHandler,
  type ObservabilityOptions,
  withObservability,
  type WrapperMetadata,
} from "./with_observability.ts";
