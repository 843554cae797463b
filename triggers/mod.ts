/**
 * Handlers of everything that is not an HTTP API: queues, topics, buses, schedules, buckets, streams, WebSocket APIs
 * and authorizers, with the events that Lambda hands to them.
 *
 * @example
 * ```ts
 * import { createLambdaContext, createScheduleEvent } from "@trellis/fn/testing";
 * import { defineScheduleHandler } from "@trellis/fn/triggers";
 *
 * const handler = defineScheduleHandler({ logging: { level: "SILENT" }, metrics: false })(
 *   function removeOldNotes({ event }) {
 *     console.log(event !== undefined); // true
 *   },
 * );
 * await handler(createScheduleEvent(), createLambdaContext());
 * ```
 *
 * @module
 */
export {
  type AuthorizerDecision,
  type AuthorizerHandler,
  type AuthorizerHandlerFunction,
  type AuthorizerHandlerOptions,
  type AuthorizerHandlerParams,
  defineAuthorizerHandler,
} from "../core/triggers/authorizer.ts";
export type { AuthorizerRequest } from "../core/triggers/authorizer_request.ts";
export {
  type AnyEventHandlerFunction,
  type AnyEventHandlerOptions,
  type AnyEventHandlerParams,
  defineEventHandler,
  type EventHandlerFunction,
  type EventHandlerOptions,
  type EventHandlerParams,
} from "../core/triggers/event.ts";
export {
  defineKafkaHandler,
  type KafkaHandlerFunction,
  type KafkaHandlerOptions,
  type KafkaHandlerParams,
} from "../core/triggers/kafka.ts";
export {
  defineQueueHandler,
  type QueueHandlerFunction,
  type QueueHandlerOptions,
  type QueueHandlerParams,
} from "../core/triggers/queue.ts";
export {
  defineScheduleHandler,
  type ScheduleHandlerFunction,
  type ScheduleHandlerParams,
} from "../core/triggers/schedule.ts";
export {
  defineStorageHandler,
  type StorageEvent,
  type StorageHandlerFunction,
  type StorageHandlerParams,
} from "../core/triggers/storage.ts";
export {
  defineStreamHandler,
  type StreamHandlerFunction,
  type StreamHandlerOptions,
  type StreamHandlerParams,
} from "../core/triggers/stream.ts";
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
} from "../core/triggers/stream_events.ts";
export {
  defineTableStreamHandler,
  type TableStreamHandlerFunction,
  type TableStreamHandlerOptions,
  type TableStreamHandlerParams,
  type TableStreamParams,
} from "../core/triggers/table_stream.ts";
export {
  defineTopicHandler,
  type TopicHandlerFunction,
  type TopicHandlerOptions,
  type TopicHandlerParams,
} from "../core/triggers/topic.ts";
export type {
  AuthorizerEvent,
  AuthorizerPolicyResult,
  AuthorizerResult,
  AuthorizerSimpleResult,
  EventBridgeEvent,
  HttpAuthorizerEvent,
  RequestAuthorizerEvent,
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
} from "../core/triggers/trigger_events.ts";
export type {
  S3Event,
  S3EventBridgeEvent,
  S3Record,
  S3TestEvent,
  StorageChange,
} from "../core/triggers/storage_events.ts";
export type { AsyncFunctionOptions, FunctionOptions } from "../core/function_options.ts";
export type {
  AsyncTriggerOptions,
  StreamTriggerOptions,
  TriggerHandler,
  TriggerOptions,
} from "../core/triggers/trigger_options.ts";
export {
  defineWebSocketHandler,
  type WebSocketHandler,
  type WebSocketHandlerFunction,
  type WebSocketHandlerOptions,
  type WebSocketHandlerParams,
  type WebSocketParams,
} from "../core/triggers/websocket.ts";
export type { AuthMethod } from "../core/http/auth_method.ts";
export type { WebSocketAuth, WebSocketIdentity } from "../core/triggers/websocket_auth.ts";
