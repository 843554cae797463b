import type { LambdaContext } from "../http/lambda.ts";
import type { WrapperMetadata } from "../with_observability.ts";
import { foreignEvent } from "./foreign_event.ts";
import { wrapTrigger } from "./observe_trigger.ts";
import type { ScheduleEvent } from "./trigger_events.ts";
import {
  ASYNC_KEYS,
  type AsyncTriggerOptions,
  checkTriggerOptions,
  type TriggerHandler,
} from "./trigger_options.ts";

/** Parameters of a schedule handler. */
export interface ScheduleHandlerParams {
  /** The event as the schedule sends it. */
  event: ScheduleEvent;
  /** The scheduled time, the same in each attempt: derive the work of the run from it. */
  scheduledTime: Date;
  /** Lambda's context. */
  context: LambdaContext;
  /** Ids of this invocation. */
  metadata: WrapperMetadata;
}

/** The function that a user writes. What it returns goes to the destination of successful events, when there is one. */
export type ScheduleHandlerFunction<TResult = unknown> = (
  params: ScheduleHandlerParams,
) => TResult | Promise<TResult>;

/**
 * Declares a function that runs on a schedule of EventBridge Scheduler, as the function module creates it, or of a rule. A failure is
 * thrown: Lambda then invokes it again (`retryAttempts`). A schedule may fire twice, so the work must be idempotent.
 *
 * @param options Names, destination and retries of failed runs.
 * @returns A function that takes the handler and returns the one to export for Lambda.
 * @throws {ConfigurationError} When an option is unknown or out of range; the message names option and value.
 *
 * @example
 * ```ts
 * import { defineScheduleHandler } from "@trellis/fn/triggers";
 * import { createLambdaContext, createScheduleEvent } from "@trellis/fn/testing";
 *
 * export const handler = defineScheduleHandler({ logging: { level: "SILENT" }, metrics: false })(
 *   ({ scheduledTime }) => scheduledTime.toISOString().slice(0, 10),
 * );
 *
 * console.log(await handler(createScheduleEvent({ time: "2026-01-31T03:00:00Z" }), createLambdaContext())); // 2026-01-31
 * ```
 */
export function defineScheduleHandler(
  options: AsyncTriggerOptions = {},
): <TResult>(
  handler: ScheduleHandlerFunction<TResult>,
) => TriggerHandler<ScheduleEvent, TResult, ScheduleHandlerFunction<TResult>> {
  checkTriggerOptions("defineScheduleHandler", options, ASYNC_KEYS);

  return function wrapHandler<TResult>(
    handler: ScheduleHandlerFunction<TResult>,
  ): TriggerHandler<ScheduleEvent, TResult, ScheduleHandlerFunction<TResult>> {
    return wrapTrigger("defineScheduleHandler", options, handler, {
      listCorrelationIds: (event: ScheduleEvent) => [event?.id],
      work: (event, context, metadata) =>
        handler({ event, scheduledTime: getTime(event), context, metadata }),
    });
  };
}

function getTime(event: ScheduleEvent): Date {
  const type = event?.["detail-type"];
  if (typeof type === "string" && type !== "Scheduled Event") {
    throw foreignEvent(
      "The event is one of EventBridge that no schedule sent: the trigger of this function must be a schedule",
      event,
    );
  }
  const time = new Date(typeof event?.time === "string" ? event.time : NaN);
  if (Number.isNaN(time.getTime())) {
    throw foreignEvent(
      "The event has no time, so no schedule sent it: a schedule with an input of its own must name the time in it, " +
        'as "time": "<aws.scheduler.scheduled-time>"',
      event,
    );
  }
  return time;
}
