import type { StandardSchema } from "../../env/standard_schema.ts";
import { isClientError } from "../client_error.ts";
import { UnexpectedError } from "../../errors/http_errors.ts";
import type { Flat } from "../flat.ts";
import type { LambdaContext } from "../http/lambda.ts";
import { type MessageIdempotency, protectMessages, type TransactionParam } from "../idempotency.ts";
import type { WrapperMetadata } from "../with_observability.ts";
import { listEventCorrelationIds } from "./correlation.ts";
import { foreignEvent } from "./foreign_event.ts";
import { addLogFields, wrapTrigger } from "./observe_trigger.ts";
import { parseInput } from "./parse_input.ts";
import type { EventBridgeEvent } from "./trigger_events.ts";
import { getReason } from "./trigger_failure.ts";
import {
  ASYNC_KEYS,
  type AsyncTriggerOptions,
  checkTriggerOptions,
  type TriggerHandler,
} from "./trigger_options.ts";
import { protective, SCHEMA_OPTION } from "../option_rules.ts";

/** Options of {@link defineEventHandler} for EventBridge. Without a type argument (`never`) its parameter is omitted. */
export interface EventHandlerOptions<TDetail = never, TTransaction = never>
  extends AsyncTriggerOptions {
  /** Parses the event's detail; synchronous or not. */
  schema?: StandardSchema<TDetail>;
  /**
   * Processes an event that is delivered several times only once, and returns the stored result for duplicates.
   * @default undefined, no protection
   */
  idempotency?: MessageIdempotency<EventHandlerParams<TDetail>, TTransaction>;
}

/** Options of {@link defineEventHandler} for events of any service. */
export interface AnyEventHandlerOptions<TEvent, TOutput = unknown, TInput = unknown>
  extends AsyncTriggerOptions {
  /**
   * Parses the whole event; synchronous or not. An event that does not fit fails the invocation. `@trellis/fn/triggers/events`
   * has schemas for the events of AWS.
   */
  event: StandardSchema<TEvent>;
  /**
   * Parses what the handler returns, and gives Lambda the result. A result that does not fit fails the invocation.
   * @default undefined: the result is returned as it is
   */
  response?: StandardSchema<TOutput, TInput>;
  /** The schema of the whole event is `event`. */
  schema?: undefined;
  /** Only for events of EventBridge, which have an id. */
  idempotency?: undefined;
}

/** Parameters of a handler for events of any service. */
export interface AnyEventHandlerParams<TEvent> {
  /** The parsed event. */
  event: TEvent;
  /** Lambda's context. */
  context: LambdaContext;
  /** Ids of this invocation. */
  metadata: WrapperMetadata;
}

/** The function that a user writes for events of any service. */
export type AnyEventHandlerFunction<TEvent, TResult> = (
  params: AnyEventHandlerParams<TEvent>,
) => TResult | Promise<TResult>;

/** Parameters of an event handler. */
export type EventHandlerParams<TDetail = never> = Flat<
  & {
    /** The event as EventBridge delivers it. */
    event: EventBridgeEvent;
    /** Lambda's context. */
    context: LambdaContext;
    /** Ids; the correlation id is the event's own. */
    metadata: WrapperMetadata;
  }
  & ([TDetail] extends [never] ? unknown : { /** The parsed detail. */ detail: TDetail })
>;

/** The function that a user writes. What it returns goes to the destination of successful events, when there is one. */
export type EventHandlerFunction<TDetail = never, TResult = unknown, TTransaction = never> = (
  params: EventHandlerParams<TDetail> & TransactionParam<TTransaction>,
) => TResult | Promise<TResult>;

/**
 * Declares the target of an EventBridge rule. A failure, also of a detail that does not fit the schema, is thrown:
 * Lambda then invokes it again (`retryAttempts`) and hands the event to the dead-letter queue.
 *
 * @param options Schema, names, destination and retries of failed events.
 * @returns A function that takes the handler and returns the one to export for Lambda.
 * @throws {ConfigurationError} When an option is unknown or out of range; the message names option and value.
 *
 * @example
 * ```ts
 * import { defineEventHandler } from "@trellis/fn/triggers";
 * import { createEventBridgeEvent, createLambdaContext } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * export const handler = defineEventHandler({
 *   schema: z.object({ noteId: z.string() }),
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(({ event, detail }) => `${event["detail-type"]} ${detail.noteId}`);
 *
 * const event = createEventBridgeEvent({ detailType: "note.created", detail: { noteId: "n1" } });
 * console.log(await handler(event, createLambdaContext())); // note.created n1
 * ```
 */
export function defineEventHandler<TDetail = never, TTransaction = never>(
  options?: EventHandlerOptions<TDetail, TTransaction>,
): <TResult>(
  handler: EventHandlerFunction<TDetail, TResult, TTransaction>,
) => TriggerHandler<
  EventBridgeEvent,
  TResult,
  EventHandlerFunction<TDetail, TResult, TTransaction>
>;
/**
 * Declares a function for events of any other service, such as Cognito, Firehose or Step Functions, with schemas of the event and of
 * the response. Its file belongs into `standalone/`: connect the service with Terraform of your own.
 *
 * @param options The schemas, and the names of the function.
 * @returns A function that takes the handler and returns the one to export for Lambda.
 * @throws {ConfigurationError} When an option is unknown or out of range; the message names option and value.
 *
 * @example
 * ```ts
 * import { defineEventHandler } from "@trellis/fn/triggers";
 * import { createLambdaContext } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * // a task of Step Functions
 * export const handler = defineEventHandler({
 *   event: z.object({ cents: z.int() }),
 *   response: z.object({ approved: z.boolean() }),
 *   logging: { level: "SILENT" },
 *   metrics: false,
 * })(({ event }) => ({ approved: event.cents < 10_000 }));
 *
 * console.log(await handler({ cents: 500 }, createLambdaContext())); // { approved: true }
 * ```
 */
export function defineEventHandler<TEvent, TOutput, TInput>(
  options: AnyEventHandlerOptions<TEvent, TOutput, TInput> & {
    response: StandardSchema<TOutput, TInput>;
  },
): (
  handler: AnyEventHandlerFunction<TEvent, TInput>,
) => TriggerHandler<unknown, TOutput, AnyEventHandlerFunction<TEvent, TInput>>;
/** Declares a function for events of any other service whose result is returned as it is. */
export function defineEventHandler<TEvent>(
  options: AnyEventHandlerOptions<TEvent>,
): <TResult>(
  handler: AnyEventHandlerFunction<TEvent, TResult>,
) => TriggerHandler<unknown, TResult, AnyEventHandlerFunction<TEvent, TResult>>;
export function defineEventHandler(
  options: EventHandlerOptions<unknown, unknown> | AnyEventHandlerOptions<unknown> = {},
): (handler: never) => unknown {
  return Object.hasOwn(options ?? {}, "event")
    ? defineAnyEventHandler(options as AnyEventHandlerOptions<unknown>)
    : defineBusHandler(options as EventHandlerOptions<unknown, unknown>);
}

function defineAnyEventHandler(
  options: AnyEventHandlerOptions<unknown>,
): (handler: AnyEventHandlerFunction<unknown, unknown>) => unknown {
  checkTriggerOptions("defineEventHandler", options, ["response", ...ASYNC_KEYS], {
    event: protective(SCHEMA_OPTION),
    response: SCHEMA_OPTION,
  });
  const { event: schema, response } = options;

  return function wrapHandler(handler) {
    return wrapTrigger("defineEventHandler", options, handler, {
      async work(given: unknown, context, metadata): Promise<unknown> {
        const event = await parseInput(schema, given).catch((error) => {
          if (!isClientError(error)) throw error;
          throw foreignEvent(
            `The event does not fit its schema: ${getReason(error)}`,
            given,
            error,
          );
        });
        const result = await handler({ event, context, metadata });
        if (response === undefined) return result;
        return await parseInput(response, result).catch((error) => {
          if (!isClientError(error)) throw error;
          throw new UnexpectedError(`The result does not fit response: ${getReason(error)}`, {
            cause: error,
          });
        });
      },
    });
  };
}

function defineBusHandler(
  options: EventHandlerOptions<unknown, unknown>,
): (handler: EventHandlerFunction<unknown, unknown, unknown>) => unknown {
  checkTriggerOptions("defineEventHandler", options, ["schema", "idempotency", ...ASYNC_KEYS]);
  const { schema } = options;

  return function wrapHandler(handler) {
    const run = protectMessages(handler, options.idempotency, ({ event }) => event.id);
    return wrapTrigger("defineEventHandler", options, handler, {
      listCorrelationIds: listEventCorrelationIds,
      async work(event: EventBridgeEvent, context, metadata): Promise<unknown> {
        if (typeof event?.["detail-type"] !== "string") {
          throw foreignEvent(
            "The event is none of EventBridge: the trigger of this function must be a rule",
            event,
          );
        }
        addLogFields({ event_id: event.id, detail_type: event["detail-type"] });
        const parsed = schema && { detail: await parseInput(schema, event.detail) };
        return await run({ event, context, metadata, ...parsed } as Parameters<typeof handler>[0]);
      },
    });
  };
}
