import type {
  EventBridgeEvent,
  HttpAuthorizerEvent,
  RequestAuthorizerEvent,
  S3Event,
  S3EventBridgeEvent,
  S3TestEvent,
  ScheduleEvent,
  SnsEvent,
  SnsMessage,
  SqsEvent,
  TokenAuthorizerEvent,
  WebSocketEvent,
  WebSocketEventType,
} from "../core/triggers/trigger_events.ts";
import type { AuthorizerContext } from "../core/http/lambda.ts";
import { createHttpApiEvent, createRestApiEvent, type EventOptions } from "./events.ts";

const REGION = "eu-west-1";
const ACCOUNT = "123456789012";
const API_ARN = `arn:aws:execute-api:${REGION}:${ACCOUNT}:a1b2c3d4e5/test`;
const TIME = "2026-01-01T00:00:00.000Z";
const TIME_MS = Date.parse(TIME);

/** A message, from which a record of {@link createQueueEvent} is made. */
export interface QueueRecordOptions {
  /** Text as it is, anything else as JSON. */
  body?: unknown;
  /**
   * SQS' id of the message.
   * @default a new UUID
   */
  messageId?: string;
  /** The attribute `correlationId` that the sender put beside the message. */
  correlationId?: string;
  /**
   * Which delivery this is.
   * @default 1
   */
  receiveCount?: number;
  /** The message group; in a queue that is not FIFO it has no order. */
  groupId?: string;
}

/**
 * What Lambda hands to the consumer of an SQS queue.
 *
 * @param records The messages.
 * @param queueName A name that ends with `.fifo` makes it a FIFO queue, whose messages are in the group `group` unless told.
 * @returns The event.
 *
 * @example
 * ```ts
 * import { createQueueEvent } from "@trellis/fn/testing";
 *
 * const { Records: [record] } = createQueueEvent([{ body: { noteId: "n1" } }], "notes.fifo");
 * console.log(record.body, record.attributes.MessageGroupId); // {"noteId":"n1"} group
 * ```
 */
export function createQueueEvent(
  records: readonly QueueRecordOptions[],
  queueName = "test-queue",
): SqsEvent {
  const isFifo = queueName.endsWith(".fifo");
  return {
    Records: records.map(
      (
        { body = "", messageId = crypto.randomUUID(), correlationId, receiveCount = 1, groupId },
        i,
      ) => {
        const group = groupId ?? (isFifo ? "group" : undefined);
        return {
          messageId,
          receiptHandle: `receipt-${messageId}`,
          body: getText(body),
          attributes: {
            ApproximateReceiveCount: String(receiveCount),
            ApproximateFirstReceiveTimestamp: String(TIME_MS + 1),
            SenderId: "AIDAEXAMPLE",
            SentTimestamp: String(TIME_MS),
            ...(group !== undefined && { MessageGroupId: group }),
            ...(isFifo &&
              {
                MessageDeduplicationId: messageId,
                SequenceNumber: String(10n ** 19n + BigInt(i)),
              }),
          },
          messageAttributes: correlationId === undefined ? {} : {
            correlationId: {
              dataType: "String",
              stringValue: correlationId,
              stringListValues: [],
              binaryListValues: [],
            },
          },
          md5OfBody: "d41d8cd98f00b204e9800998ecf8427e",
          eventSource: "aws:sqs",
          eventSourceARN: `arn:aws:sqs:${REGION}:${ACCOUNT}:${queueName}`,
          awsRegion: REGION,
        };
      },
    ),
  };
}

/** A message, from which a record of {@link createTopicEvent} is made. */
export interface TopicRecordOptions {
  /** Text as it is, anything else as JSON. */
  message?: unknown;
  /**
   * SNS' id of the message.
   * @default a new UUID
   */
  messageId?: string;
  /** The attribute `correlationId` that the publisher put beside the message. */
  correlationId?: string;
  /** The subject line. */
  subject?: string;
}

/**
 * A message as SNS writes it: into a record, and into the body of a queue's message without raw message delivery.
 *
 * @param options The message.
 * @returns The notification.
 */
export function createTopicNotification(options: TopicRecordOptions = {}): SnsMessage {
  const { message = "", messageId = crypto.randomUUID(), correlationId, subject } = options;
  return {
    Type: "Notification",
    MessageId: messageId,
    TopicArn: `arn:aws:sns:${REGION}:${ACCOUNT}:test-topic`,
    Subject: subject ?? null,
    Message: getText(message),
    Timestamp: TIME,
    MessageAttributes: correlationId === undefined
      ? {}
      : { correlationId: { Type: "String", Value: correlationId } },
  };
}

/**
 * What SNS hands to a function.
 *
 * @param records The messages; SNS sends one at a time.
 * @returns The event.
 */
export function createTopicEvent(records: readonly TopicRecordOptions[]): SnsEvent {
  return {
    Records: records.map((options) => ({
      EventSource: "aws:sns",
      EventVersion: "1.0",
      EventSubscriptionArn:
        `arn:aws:sns:${REGION}:${ACCOUNT}:test-topic:2bcfbf39-05c3-41de-beaa-fcfcc21c8f55`,
      Sns: createTopicNotification(options),
    })),
  };
}

/** Options of {@link createEventBridgeEvent}. */
export interface EventBridgeEventOptions {
  /**
   * What happened.
   * @default "test.happened"
   */
  detailType?: string;
  /**
   * The event's own content.
   * @default {}
   */
  detail?: unknown;
  /**
   * Who says so.
   * @default "test"
   */
  source?: string;
  /**
   * EventBridge's id of the event.
   * @default a new UUID
   */
  id?: string;
}

/**
 * An event of an EventBridge bus, as its target gets it.
 *
 * @param options What happened.
 * @returns The event.
 */
export function createEventBridgeEvent(options: EventBridgeEventOptions = {}): EventBridgeEvent {
  const { detailType = "test.happened", detail = {}, source = "test", id = crypto.randomUUID() } =
    options;
  const time = TIME.replace(".000", "");
  return {
    version: "0",
    id,
    "detail-type": detailType,
    source,
    account: ACCOUNT,
    time,
    region: REGION,
    resources: [],
    detail,
  };
}

/** Options of {@link createScheduleEvent}. */
export interface ScheduleEventOptions {
  /**
   * Who sends it: a schedule of the function module, EventBridge Scheduler without an input of its own, or a rule.
   * @default "module"
   */
  from?: "module" | "scheduler" | "rule";
  /**
   * The time that was meant, ISO 8601.
   * @default "2026-01-01T00:00:00Z"
   */
  time?: string;
  /**
   * Id of the event.
   * @default a new UUID
   */
  id?: string;
}

/**
 * What a schedule sends.
 *
 * @param options Who sends it, and for when.
 * @returns The event.
 */
export function createScheduleEvent(options: ScheduleEventOptions = {}): ScheduleEvent {
  const { from = "module", time = "2026-01-01T00:00:00Z", id = crypto.randomUUID() } = options;
  const isRule = from === "rule";
  return {
    ...createEventBridgeEvent({
      detailType: "Scheduled Event",
      source: isRule ? "aws.events" : "aws.scheduler",
      id,
    }),
    time,
    resources: [
      isRule
        ? `arn:aws:events:${REGION}:${ACCOUNT}:rule/test`
        : `arn:aws:scheduler:${REGION}:${ACCOUNT}:schedule/default/test`,
    ],
    detail: from === "scheduler" ? "{}" : {},
  };
}

/** A change, from which the events of a bucket are made. */
export interface StorageRecordOptions {
  /**
   * Name of the bucket.
   * @default "test-bucket"
   */
  bucket?: string;
  /** Key of the object, not encoded. */
  key: string;
  /**
   * What happened to the object.
   * @default "created"
   */
  change?: "created" | "deleted";
  /**
   * S3's id of the request that made the change.
   * @default "C3D13FE58DE4C810"
   */
  requestId?: string;
}

const S3_REQUEST_ID = "C3D13FE58DE4C810";

/**
 * What S3 hands to a function that it notifies itself: keys are encoded, a space as a plus sign.
 *
 * @param records The changes.
 * @returns The event.
 */
export function createStorageEvent(records: readonly StorageRecordOptions[]): S3Event {
  return {
    Records: records.map((
      { bucket = "test-bucket", key, change = "created", requestId = S3_REQUEST_ID },
    ) => ({
      eventVersion: "2.1",
      eventSource: "aws:s3",
      awsRegion: REGION,
      eventTime: TIME,
      eventName: change === "created" ? "ObjectCreated:Put" : "ObjectRemoved:Delete",
      userIdentity: { principalId: "AIDAEXAMPLE" },
      requestParameters: { sourceIPAddress: "127.0.0.1" },
      responseElements: { "x-amz-request-id": requestId, "x-amz-id-2": "example" },
      s3: {
        s3SchemaVersion: "1.0",
        configurationId: "test",
        bucket: {
          name: bucket,
          ownerIdentity: { principalId: "EXAMPLE" },
          arn: `arn:aws:s3:::${bucket}`,
        },
        object: {
          key: encodeURIComponent(key).replaceAll("%20", "+").replaceAll("%2F", "/"),
          ...(change === "created" && { size: 1024, eTag: "b1946ac92492d2347c6235b4d2611184" }),
          sequencer: "0055AED6DCD90281E5",
        },
      },
    })),
  };
}

/**
 * A change in a bucket that comes through EventBridge: the key is as it is.
 *
 * @param options The change.
 * @returns The event.
 */
export function createStorageEventBridgeEvent(options: StorageRecordOptions): S3EventBridgeEvent {
  const { bucket = "test-bucket", key, change = "created", requestId = S3_REQUEST_ID } = options;
  const isCreated = change === "created";
  return {
    ...createEventBridgeEvent({
      detailType: isCreated ? "Object Created" : "Object Deleted",
      source: "aws.s3",
    }),
    resources: [`arn:aws:s3:::${bucket}`],
    detail: {
      bucket: { name: bucket },
      object: {
        key,
        ...(isCreated && { size: 1024, etag: "b1946ac92492d2347c6235b4d2611184" }),
        sequencer: "617f08299329d189",
      },
      "request-id": requestId,
      reason: isCreated ? "PutObject" : "DeleteObject",
    },
  };
}

/**
 * What S3 sends once, when notifications are set up.
 *
 * @param bucket Name of the bucket.
 * @returns The event.
 */
export function createStorageTestEvent(bucket = "test-bucket"): S3TestEvent {
  return { Service: "Amazon S3", Event: "s3:TestEvent", Time: TIME, Bucket: bucket };
}

/** What happens on a connection, from which the events of a WebSocket API are made. */
export interface WebSocketEventOptions {
  /**
   * The connection.
   * @default "conn-1="
   */
  connectionId?: string;
  /** What the authorizer said when the connection was made. */
  authorizer?: AuthorizerContext;
  /** Headers of the handshake, with a connect. */
  headers?: Readonly<Record<string, string>>;
  /** Query parameters of the handshake, with a connect. */
  query?: Readonly<Record<string, string>>;
  /** With a message: text as it is, anything else as JSON. */
  body?: unknown;
  /**
   * The route, with a message.
   * @default "$default"
   */
  routeKey?: string;
}

/**
 * Somebody connects to a WebSocket API.
 *
 * @param options The connection.
 * @returns The event.
 */
export function createWebSocketConnectEvent(options: WebSocketEventOptions = {}): WebSocketEvent {
  const { headers = {}, query } = options;
  return {
    headers,
    multiValueHeaders: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, [value]]),
    ),
    ...(query && { queryStringParameters: query }),
    requestContext: connectionContext("CONNECT", "$connect", options),
    isBase64Encoded: false,
  };
}

/**
 * A message comes to a WebSocket API.
 *
 * @param options The connection, the message.
 * @returns The event.
 */
export function createWebSocketMessageEvent(options: WebSocketEventOptions = {}): WebSocketEvent {
  return {
    requestContext: {
      ...connectionContext("MESSAGE", options.routeKey ?? "$default", options),
      messageId: "message-1=",
    },
    body: getText(options.body ?? ""),
    isBase64Encoded: false,
  };
}

/**
 * A connection to a WebSocket API has ended.
 *
 * @param options The connection.
 * @returns The event.
 */
export function createWebSocketDisconnectEvent(
  options: WebSocketEventOptions = {},
): WebSocketEvent {
  return {
    headers: { Host: "a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com", "x-api-key": "" },
    requestContext: {
      ...connectionContext("DISCONNECT", "$disconnect", options),
      disconnectStatusCode: 1001,
      disconnectReason: "Going away",
    },
    isBase64Encoded: false,
  };
}

function connectionContext(
  eventType: WebSocketEventType,
  routeKey: string,
  { connectionId = "conn-1=", authorizer }: WebSocketEventOptions,
): WebSocketEvent["requestContext"] {
  return {
    routeKey,
    eventType,
    connectionId,
    requestId: "gateway-request-id",
    domainName: "a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com",
    stage: "test",
    apiId: "a1b2c3d4e5",
    connectedAt: TIME_MS,
    requestTimeEpoch: TIME_MS + 1,
    identity: { sourceIp: "127.0.0.1" },
    ...(authorizer && { authorizer }),
  };
}

/**
 * What a REST API asks an authorizer of the type REQUEST.
 *
 * @param options The request that is asked about.
 * @returns The event.
 */
export function createRequestAuthorizerEvent(options: EventOptions = {}): RequestAuthorizerEvent {
  const { body: _body, isBase64Encoded: _encoded, ...request } = createRestApiEvent(options);
  return {
    type: "REQUEST",
    methodArn: `${API_ARN}/${request.httpMethod}${request.path}`,
    ...request,
  };
}

/**
 * What a REST API asks an authorizer of the type TOKEN.
 *
 * @param authorizationToken The header that the authorizer is set to, whole: `Bearer t-1`.
 * @param options The request that is asked about.
 * @returns The event.
 */
export function createTokenAuthorizerEvent(
  authorizationToken: string,
  { method = "GET", path = "/" }: Pick<EventOptions, "method" | "path"> = {},
): TokenAuthorizerEvent {
  return { type: "TOKEN", methodArn: `${API_ARN}/${method}${path}`, authorizationToken };
}

/**
 * What an HTTP API asks an authorizer (payload format 2.0). The header `Authorization` is its identity source.
 *
 * @param options The request that is asked about.
 * @returns The event.
 */
export function createHttpAuthorizerEvent(options: EventOptions = {}): HttpAuthorizerEvent {
  const { body: _body, isBase64Encoded: _encoded, ...request } = createHttpApiEvent(options);
  const { method, path } = request.requestContext.http;
  const { authorization } = request.headers;
  return {
    type: "REQUEST",
    routeArn: `${API_ARN}/${method}${path}`,
    identitySource: authorization === undefined ? null : [authorization],
    ...request,
  };
}

function getText(content: unknown): string {
  return typeof content === "string" ? content : JSON.stringify(content);
}
