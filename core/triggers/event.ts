import type { StandardSchema } from "../../env/standard_schema.ts";
import { UnexpectedError } from "../../errors/http_errors.ts";
import type { Flat } from "../flat.ts";
import type { LambdaContext } from "../http/lambda.ts";
import type { MessageIdempotency, TransactionParam } from "../idempotency.ts";
import type { WrapperMetadata } from "../with_observability.ts";
import { listEventCorrelationIds } from "./correlation.ts";
import { addLogFields, observeTrigger } from "./observe_trigger.ts";
import { parseInput } from "./parse_input.ts";
import type { EventBridgeEvent } from "./trigger_events.ts";
import {
  ASYNC_KEYS,
  type AsyncTriggerOptions,
  checkHandler,
  checkTriggerOptions,
  type TriggerHandler,
} from "./trigger_options.ts";
import { record } from "../../env/recording.ts";

/** Options of {@link defineEventHandler}. Without a type argument (`never`) its parameter is omitted. */
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
  options: EventHandlerOptions<TDetail, TTransaction> = {},
): <TResult>(
  handler: EventHandlerFunction<TDetail, TResult, TTransaction>,
) => TriggerHandler<
  EventBridgeEvent,
  TResult,
  EventHandlerFunction<TDetail, TResult, TTransaction>
> {
  checkTriggerOptions("defineEventHandler", options, ["schema", "idempotency", ...ASYNC_KEYS]);
  const { schema } = options;

  return function wrapHandler<TResult>(
    handler: EventHandlerFunction<TDetail, TResult, TTransaction>,
  ): TriggerHandler<
    EventBridgeEvent,
    TResult,
    EventHandlerFunction<TDetail, TResult, TTransaction>
  > {
    checkHandler("defineEventHandler", handler);
    const { idempotency } = options;
    const run = idempotency?.store.protectMessage(handler, idempotency, ({ event }) => event.id) ??
      handler;

    async function handle(
      event: EventBridgeEvent,
      context: LambdaContext,
      metadata: WrapperMetadata,
    ): Promise<TResult> {
      if (typeof event?.["detail-type"] !== "string") {
        throw new UnexpectedError(
          "The event is none of EventBridge: the trigger of this function must be a rule",
        );
      }
      addLogFields({ event_id: event.id, detail_type: event["detail-type"] });
      const parsed = schema && { detail: await parseInput(schema, event.detail) };
      return await run(
        { event, context, metadata, ...parsed } as Parameters<typeof handler>[0],
      );
    }

    const lambda = observeTrigger<EventBridgeEvent, TResult>(
      handler.name,
      options,
      listEventCorrelationIds,
      handle,
    );
    return record("defineEventHandler", [options, handler], Object.assign(lambda, { handler }));
  };
}
