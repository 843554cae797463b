/**
 * Test helpers: a client of all functions of a project, events of every trigger, a Lambda context
 * with a deadline, a fake clock and an empty database. The local server that behaves like Aurora DSQL is in
 * `@trellis/fn/testing/distsql`.
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
export { type ChangeRecordOptions, createChangeStreamEvent } from "./change_events.ts";
export { createFakeClock, type FakeClock, type FakeClockOptions } from "./clock.ts";
export { createJobRunner, type JobRunnerOptions, type TestJobRunner } from "./job_runner.ts";
export { createLambdaContext, type LambdaContextOptions } from "./context.ts";
export { createTestDatabase, type TestDatabase, type TestDatabaseOptions } from "./database.ts";
export {
  createAlbEvent,
  createFunctionUrlEvent,
  createHttpApiEvent,
  createRestApiEvent,
  type EventOptions,
} from "./events.ts";
export {
  createHttpAuthorizerEvent,
  createRequestAuthorizerEvent,
  createTokenAuthorizerEvent,
  createWebSocketConnectEvent,
  createWebSocketDisconnectEvent,
  createWebSocketMessageEvent,
  type WebSocketEventOptions,
} from "./gateway_events.ts";
export {
  createTestClient,
  type TestApiKey,
  type TestBody,
  type TestCaller,
  type TestCallInput,
  type TestCallOptions,
  type TestCallSettings,
  type TestClient,
  type TestClientOptions,
  type TestClock,
  type TestJwt,
  type TestMail,
  type TestMethod,
  type TestRequest,
  type TestResponse,
  type TestSocket,
  type TestSocketOptions,
  type TestUser,
  type TestUserOptions,
} from "./test_client.ts";
export {
  createKafkaEvent,
  createStreamEvent,
  createTableStreamEvent,
  type KafkaRecordOptions,
  type StreamRecordOptions,
  type TableStreamRecordOptions,
} from "./stream_events.ts";
export {
  createEventBridgeEvent,
  createQueueEvent,
  createScheduleEvent,
  createTopicEvent,
  createTopicNotification,
  type EventBridgeEventOptions,
  type QueueRecordOptions,
  type ScheduleEventOptions,
  type TopicRecordOptions,
} from "./trigger_events.ts";
export {
  createStorageEvent,
  createStorageEventBridgeEvent,
  createStorageTestEvent,
  type StorageRecordOptions,
} from "./storage_events.ts";
