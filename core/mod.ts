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
export { getHeader, getPath, getQueryString, readRawBody } from "./api_event.ts";
export { getClientAddress } from "./client_address.ts";
export { type Clock } from "./clock.ts";
export { CORRELATION_ID_HEADER } from "./correlation_id.ts";
export { type CorsOption } from "./cors.ts";
export { buildErrorResponse, type ErrorBody, type ErrorBodyFormat } from "./error_response.ts";
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
export type {
  AsyncTriggerOptions,
  TriggerHandler,
  TriggerOptions,
} from "./handlers/trigger_options.ts";
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
export { type LoggingConfig } from "./logging_config.ts";
export { getRequestContext, type RequestContext } from "./request_context.ts";
export { buildValidatedResponse, type ResponseOptions } from "./response.ts";
export { retry, type RetryOptions } from "./retry.ts";
export { type SessionResult, type UserDetails } from "./session_registry.ts";
export { timingSafeEqual } from "./timing_safe_equal.ts";
export { getOutgoingHeaders } from "./trace_id.ts";
export { UserStatus } from "./user_status.ts";
export {
  type ObservabilityOptions,
  withObservability,
  type WrapperMetadata,
} from "./with_observability.ts";
