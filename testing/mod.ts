/**
 * What a test needs: events of every source, Lambda's context with a deadline, a clock that stands still, a fresh
 * database, and a local server that behaves as the distributed-SQL provider does.
 *
 * @example
 * ```ts
 * import { createHttpApiEvent, createLambdaContext } from "@trellis/fn/testing";
 *
 * const event = createHttpApiEvent({ method: "GET", path: "/notes", query: { limit: "5" } });
 * console.log(event.rawQueryString, createLambdaContext().functionName); // limit=5 test-function
 * ```
 *
 * @module
 */
export { createFakeClock, type FakeClock, type FakeClockOptions } from "./clock.ts";
export { createLambdaContext, type LambdaContextOptions } from "./context.ts";
export { createTestDatabase, type TestDatabase, type TestDatabaseOptions } from "./database.ts";
export type { EmbeddedDatabase } from "./distsql/embedded_backend.ts";
export type { DistSqlFault, DistSqlInjection, InjectedFault } from "./distsql/faults.ts";
export type { DistSqlIamAction, DistSqlPrincipal } from "./distsql/iam_token.ts";
export { type DistSqlServer, startDistSqlServer } from "./distsql/server.ts";
export type { DistSqlLimits, DistSqlStatistics } from "./distsql/server_context.ts";
export type { DistSqlBackend, DistSqlServerOptions } from "./distsql/server_options.ts";
export {
  createAlbEvent,
  createFunctionUrlEvent,
  createHttpApiEvent,
  createRestApiEvent,
  type EventOptions,
} from "./events.ts";
export {
  createEventBridgeEvent,
  createHttpAuthorizerEvent,
  createQueueEvent,
  createRequestAuthorizerEvent,
  createScheduleEvent,
  createStorageEvent,
  createStorageEventBridgeEvent,
  createStorageTestEvent,
  createTokenAuthorizerEvent,
  createTopicEvent,
  createTopicNotification,
  createWebSocketConnectEvent,
  createWebSocketDisconnectEvent,
  createWebSocketMessageEvent,
  type EventBridgeEventOptions,
  type QueueRecordOptions,
  type ScheduleEventOptions,
  type StorageRecordOptions,
  type TopicRecordOptions,
  type WebSocketEventOptions,
} from "./trigger_events.ts";
