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
  createTopicEvent,
  type QueueRecordOptions,
} from "../../testing/trigger_events.ts";
import { createStorageEventBridgeEvent } from "../../testing/storage_events.ts";
import { isObject } from "../config/setting_rules.ts";
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
 * @param input The body and query parameters.
 * @returns The event that Lambda would pass.
 * @throws {ValidationError} If the input is invalid for this kind of function.
 */
export function toTriggerEvent(fn: FunctionFile, input: TriggerInput): unknown {
  const { body, params } = input;
  if (params.get("as") === "event") return parse(body, "the event");
  const get = (name: string) => params.get(name) || undefined;
  switch (fn.kind) {
    case "api":
      throw new ValidationError(
        `${fn.name} serves ${fn.method} ${fn.path}: call that ` +
          `route, or send a complete event with as=event`,
      );
    case "queue":
      return createQueueEvent(listRecords(input), get("queue") ?? fn.name);
    case "topic":
      return createTopicEvent([{
        message: body,
        subject: params.get("subject") ?? undefined,
        ...readMessageOptions(params),
      }]);
    case "event": {
      const detail = body === "" ? {} : parse(body, "the detail");
      return createEventBridgeEvent({
        detail,
        detailType: get("detailType"),
        source: get("source"),
      });
    }
    case "schedule": {
      const now = new Date().toISOString().replace(/\.\d+/, "");
      return createScheduleEvent({ time: get("time") ?? now });
    }
    case "storage":
      return createStorageEventBridgeEvent({
        bucket: get("bucket"),
        key: get("key") ?? "example.txt",
        change: parseChange(get("change") ?? "created"),
      });
    case "stream":
      return createStreamEvent([{ data: body, partitionKey: get("partitionKey") }]);
    case "table-stream":
      return createTableStreamEvent(parseChanges(body), get("table"));
    case "kafka": {
      const correlationId = params.get("correlationId") ?? undefined;
      const partition = Number(get("partition") ?? 0);
      const record = { value: body, key: get("key"), partition, correlationId };
      return createKafkaEvent([record], get("topic"));
    }
    case "websocket":
      return toWebSocketEvent(fn, input);
    case "authorizer": {
      const token = get("token");
      return createRequestAuthorizerEvent({
        method: get("method") ?? "GET",
        path: get("path") ?? "/",
        headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
      });
    }
    case "standalone":
      return body === "" ? {} : parse(body, "the event");
  }
}

function toWebSocketEvent({ routeKey }: FunctionFile, { body, params }: TriggerInput): unknown {
  const options = { connectionId: params.get("connectionId") || undefined, body, routeKey };
  switch (routeKey) {
    case "$connect":
      return createWebSocketConnectEvent({ ...options, query: Object.fromEntries(params) });
    case "$disconnect":
      return createWebSocketDisconnectEvent(options);
    default:
      return createWebSocketMessageEvent(options);
  }
}

function listRecords({ body, params }: TriggerInput): QueueRecordOptions[] {
  if (params.get("as") === "records") return parseRecords(body);
  return [{ body, groupId: params.get("groupId") ?? undefined, ...readMessageOptions(params) }];
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

function readMessageOptions(
  params: URLSearchParams,
): Pick<QueueRecordOptions, "correlationId" | "messageAttributes"> {
  return {
    correlationId: params.get("correlationId") ?? undefined,
    messageAttributes: parseAttributes(params.get("attributes")),
  };
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

function parseChange(change: string): "created" | "deleted" {
  if (change === "created" || change === "deleted") return change;
  throw new ValidationError(`change must be created or deleted, got ${JSON.stringify(change)}`);
}

function parseChanges(text: string): TableStreamRecordOptions[] {
  const changes = parse(text, "a list of changes");
  const isChange = (change: unknown) => isObject(change) && isObject(change.keys);
  if (Array.isArray(changes) && changes.every(isChange)) return changes;
  throw new ValidationError(
    'The body must be a list of changes: [{ "keys": { … }, "before": { … }, "after": { … } }]',
  );
}
