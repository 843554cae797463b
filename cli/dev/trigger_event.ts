import { ValidationError } from "../../errors/http_errors.ts";
import {
  createRequestAuthorizerEvent,
  createWebSocketConnectEvent,
  createWebSocketDisconnectEvent,
  createWebSocketMessageEvent,
} from "../../testing/gateway_events.ts";
import {
  createEventBridgeEvent,
  createQueueEvent,
  createScheduleEvent,
  createStorageEventBridgeEvent,
  createTopicEvent,
  type QueueRecordOptions,
} from "../../testing/trigger_events.ts";
import type { FunctionFile, FunctionKind } from "../discovery/function_files.ts";

/** What somebody sends to a function: a text, and what stands beside it. */
export interface TriggerInput {
  /** The message, the detail, the event: what its kind takes. */
  readonly body: string;
  /** What the query string says. */
  readonly params: URLSearchParams;
}

/** What a form for a kind of function asks. */
export interface TriggerForm {
  /** What the body is; none when there is no body. */
  readonly body?: string;
  /** Names in the query string. */
  readonly params: readonly string[];
}

/** What can be said to each kind. With `as=event` the body is the whole event instead. */
export const TRIGGER_FORMS: Readonly<Record<Exclude<FunctionKind, "api">, TriggerForm>> = {
  queue: {
    body:
      "The message; with as=records a list of { body, messageId, correlationId, groupId, receiveCount }",
    params: ["queue", "correlationId", "groupId"],
  },
  topic: { body: "The message", params: ["subject", "correlationId"] },
  event: { body: "The detail, as JSON", params: ["detailType", "source"] },
  schedule: { params: ["time"] },
  storage: { params: ["bucket", "key", "change"] },
  websocket: { body: "The message", params: ["connectionId"] },
  authorizer: { params: ["token", "method", "path"] },
  standalone: { body: "The event, as JSON", params: [] },
};

/**
 * Makes the real event of a trigger.
 *
 * @param fn The function.
 * @param input What was sent.
 * @returns The event that Lambda would hand over.
 * @throws {ValidationError} When the input does not fit the kind.
 */
export function toTriggerEvent(fn: FunctionFile, { body, params }: TriggerInput): unknown {
  if (params.get("as") === "event") return parse(body, "the event");
  const correlationId = params.get("correlationId") ?? undefined;
  switch (fn.kind) {
    case "api":
      throw new ValidationError(
        `${fn.name} answers ${fn.method} ${fn.path}: call that, or give a whole event with as=event`,
      );
    case "queue": {
      const records = params.get("as") === "records"
        ? parseRecords(body)
        : [{ body, correlationId, groupId: params.get("groupId") ?? undefined }];
      return createQueueEvent(records, params.get("queue") || fn.name);
    }
    case "topic":
      return createTopicEvent([{
        message: body,
        subject: params.get("subject") ?? undefined,
        correlationId,
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
          `change is ${JSON.stringify(change)}: it must be created or deleted`,
        );
      }
      return createStorageEventBridgeEvent({
        bucket: params.get("bucket") || undefined,
        key: params.get("key") || "example.txt",
        change,
      });
    }
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

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ValidationError(`The body must be ${what} as JSON: ${(cause as Error).message}`, {
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
  throw new ValidationError('With as=records the body is a list: [{ "body": { … } }, …]');
}
