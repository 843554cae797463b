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
export { type Clock } from "./async/clock.ts";
export { type CorsOption } from "./http/cors.ts";
export type { SecurityHeadersOption } from "./http/security_headers.ts";
export { buildErrorResponse, type ErrorBody, type ErrorBodyFormat } from "./http/error_response.ts";
export {
  type AuthorizerDecision,
  type AuthorizerHandler,
  type AuthorizerHandlerFunction,
  type AuthorizerHandlerOptions,
  type AuthorizerHandlerParams,
  defineAuthorizerHandler,
} from "./triggers/authorizer.ts";
export type { AuthorizerRequest } from "./triggers/authorizer_request.ts";
export {
  defineEventHandler,
  type EventHandlerFunction,
  type EventHandlerOptions,
  type EventHandlerParams,
} from "./triggers/event.ts";
export {
  defineKafkaHandler,
  type KafkaHandlerFunction,
  type KafkaHandlerOptions,
  type KafkaHandlerParams,
} from "./triggers/kafka.ts";
export {
  defineQueueHandler,
  type QueueHandlerFunction,
  type QueueHandlerOptions,
  type QueueHandlerParams,
} from "./triggers/queue.ts";
export {
  defineScheduleHandler,
  type ScheduleHandlerFunction,
  type ScheduleHandlerParams,
} from "./triggers/schedule.ts";
export {
  defineStorageHandler,
  type StorageEvent,
  type StorageHandlerFunction,
  type StorageHandlerParams,
} from "./triggers/storage.ts";
export {
  defineStreamHandler,
  type StreamHandlerFunction,
  type StreamHandlerOptions,
  type StreamHandlerParams,
} from "./triggers/stream.ts";
export type {
  AttributeMap,
  AttributeValue,
  KafkaBatchResult,
  KafkaEvent,
  KafkaRecord,
  KinesisEvent,
  KinesisRecord,
  StreamBatchResult,
  TableStreamEvent,
  TableStreamRecord,
} from "./triggers/stream_events.ts";
export {
  defineTableStreamHandler,
  type TableStreamHandlerFunction,
  type TableStreamHandlerOptions,
  type TableStreamHandlerParams,
  type TableStreamParams,
} from "./triggers/table_stream.ts";
export {
  defineTopicHandler,
  type TopicHandlerFunction,
  type TopicHandlerOptions,
  type TopicHandlerParams,
} from "./triggers/topic.ts";
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
  SnsRecord,
  SqsBatchResult,
  SqsEvent,
  SqsRecord,
  TokenAuthorizerEvent,
  WebSocketEvent,
  WebSocketResult,
} from "./triggers/trigger_events.ts";
export type {
  AsyncTriggerOptions,
  StreamTriggerOptions,
  TriggerHandler,
  TriggerOptions,
} from "./triggers/trigger_options.ts";
export {
  defineWebSocketHandler,
  type WebSocketHandlerFunction,
  type WebSocketHandlerOptions,
  type WebSocketHandlerParams,
  type WebSocketParams,
} from "./triggers/websocket.ts";
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
export { retry, type RetryOptions } from "./async/retry.ts";
export {
  type SessionDetails,
  type SessionResult,
  type UserDetails,
} from "./http/session_registry.ts";
export { timingSafeEqual } from "./http/timing_safe_equal.ts";
export { getOutgoingHeaders } from "./http/trace_id.ts";
export { UserStatus } from "./http/user_status.ts";
export type { Flat } from "./flat.ts";
export type { ObservabilityOptions } from "./handler_settings.ts";
export {
  type LambdaHandler,
  withObservability,
  type WrapperMetadata,
} from "./with_observability.ts";
