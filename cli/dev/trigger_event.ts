import { ValidationError } from "../../errors/http_errors.ts";
import {
  createRequestAuthorizerEvent,
  createWebSocketConnectEvent,
  createWebSocketDisconnectEvent,
  createWebSocketMessageEvent,
} from "../../testing/gateway_events.ts";
import {
  createKafkaEvent,
  createStreamEvent,
  createTableStreamEvent,
  type TableStreamRecordOptions,
} from "../../testing/stream_events.ts";
import {
  createEventBridgeEvent,
  createQueueEvent,
  createScheduleEvent,
  createStorageEventBridgeEvent,
  createTopicEvent,
  type QueueRecordOptions,
} from "../../testing/trigger_events.ts";
import { isObject } from "../config/settings.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { FunctionKind } from "../discovery/function_kinds.ts";

/** The body and query string that a user sends to a function. */
export interface TriggerInput {
  /** The message, detail or event, depending on the kind of function. */
  readonly body: string;
  /** Query parameters. */
  readonly params: URLSearchParams;
}

/** The form for a kind of function. */
export interface TriggerForm {
  /** Label of the body; omitted if the function takes none. */
  readonly body?: string;
  /** Names of query parameters. */
  readonly params: readonly string[];
}

/** The form of each kind. With `as=event` the body is the whole event. */
export const TRIGGER_FORMS: Readonly<Record<Exclude<FunctionKind, "api">, TriggerForm>> = {
  queue: {
    body: "The message; with as=records a list of { body, " +
      "messageId, correlationId, messageAttributes, groupId, receiveCount }",
    params: ["queue", "correlationId", "groupId", "attributes"],
  },
  topic: { body: "The message", params: ["subject", "correlationId", "attributes"] },
  event: { body: "The detail, as JSON", params: ["detailType", "source"] },
  schedule: { params: ["time"] },
  storage: { params: ["bucket", "key", "change"] },
  stream: { body: "The record's content", params: ["partitionKey"] },
  "table-stream": {
    body: 'Changes as JSON: [{ "keys": { … }, "before": { … }, "after": { … } }]',
    params: ["table"],
  },
  kafka: { body: "The record's value", params: ["topic", "key", "partition", "correlationId"] },
  websocket: { body: "The message", params: ["connectionId"] },
  authorizer: { params: ["token", "method", "path"] },
  standalone: { body: "The event, as JSON", params: [] },
};

/**
 * Builds the event of a trigger.
 *
 * @param fn The function.
 * @param input The body and query parameters.
 * @returns The event that Lambda would pass.
 * @throws {ValidationError} If the input is invalid for this kind of function.
 */
export function toTriggerEvent(fn: FunctionFile, { body, params }: TriggerInput): unknown {
  if (params.get("as") === "event") return parse(body, "the event");
  const correlationId = params.get("correlationId") ?? undefined;
  switch (fn.kind) {
    case "api":
      throw new ValidationError(
        `${fn.name} serves ${fn.method} ${fn.path}: call that ` +
          `route, or send a complete event with as=event`,
      );
    case "queue": {
      const records = params.get("as") === "records" ? parseRecords(body) : [{
        body,
        correlationId,
        messageAttributes: parseAttributes(params.get("attributes")),
        groupId: params.get("groupId") ?? undefined,
      }];
      return createQueueEvent(records, params.get("queue") || fn.name);
    }
    case "topic":
      return createTopicEvent([{
        message: body,
        subject: params.get("subject") ?? undefined,
        correlationId,
        messageAttributes: parseAttributes(params.get("attributes")),
      }]);
    case "event":
      return createEventBridgeEvent({
        detail: body === "" ? {} : parse(body, "the detail"),
        detailType: params.get("detailType") || undefined,
        source: params.get("source") || undefined,
      });
    case "schedule":
      return createScheduleEvent({
        time: params.get("time") || new Date().toISOString().replace(/\.\d+/, ""),
      });
    case "storage": {
      const change = params.get("change") || "created";
      if (change !== "created" && change !== "deleted") {
        throw new ValidationError(
          `change must be created or deleted, got ${JSON.stringify(change)}`,
        );
      }
      return createStorageEventBridgeEvent({
        bucket: params.get("bucket") || undefined,
        key: params.get("key") || "example.txt",
        change,
      });
    }
    case "stream":
      return createStreamEvent([{
        data: body,
        partitionKey: params.get("partitionKey") || undefined,
      }]);
    case "table-stream":
      return createTableStreamEvent(parseChanges(body), params.get("table") || undefined);
    case "kafka":
      return createKafkaEvent([{
        value: body,
        key: params.get("key") || undefined,
        partition: Number(params.get("partition") || 0),
        correlationId,
      }], params.get("topic") || undefined);
    case "websocket": {
      const options = {
        connectionId: params.get("connectionId") || undefined,
        body,
        routeKey: fn.routeKey,
      };
      return fn.routeKey === "$connect"
        ? createWebSocketConnectEvent({ ...options, query: Object.fromEntries(params) })
        : fn.routeKey === "$disconnect"
        ? createWebSocketDisconnectEvent(options)
        : createWebSocketMessageEvent(options);
    }
    case "authorizer": {
      const token = params.get("token");
      return createRequestAuthorizerEvent({
        method: params.get("method") || "GET",
        path: params.get("path") || "/",
        headers: token ? { Authorization: `Bearer ${token}` } : {},
      });
    }
    case "standalone":
      return body === "" ? {} : parse(body, "the event");
  }
}

function parse(text: string, what: string, source = "The body"): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ValidationError(`${source} must be ${what} as JSON: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function parseRecords(text: string): QueueRecordOptions[] {
  const records = parse(text, "a list of records");
  if (
    Array.isArray(records) &&
    records.every((record) => typeof record === "object" && record !== null)
  ) {
    return records;
  }
  throw new ValidationError('With as=records the body must be a list: [{ "body": { … } }, …]');
}

/** Reads message attributes: a JSON object of strings. */
function parseAttributes(text: string | null): Record<string, string> | undefined {
  if (text === null || text === "") return undefined;
  const attributes = parse(text, "an object", "attributes");
  if (isObject(attributes) && Object.values(attributes).every((each) => typeof each === "string")) {
    return attributes as Record<string, string>;
  }
  throw new ValidationError('attributes must be an object of strings: { "tenant": "t1" }');
}

function parseChanges(text: string): TableStreamRecordOptions[] {
  const changes = parse(text, "a list of changes");
  const isChange = (change: unknown) => isObject(change) && isObject(change.keys);
  if (Array.isArray(changes) && changes.every(isChange)) return changes;
  throw new ValidationError(
    'The body must be a list of changes: [{ "keys": { … }, "before": { … }, "after": { … } }]',
  );
}
