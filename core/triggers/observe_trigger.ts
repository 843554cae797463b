import { record } from "../../env/recording.ts";
import { currentInvocation } from "../../observability/invocation_context.ts";
import { type LogFields, renderFields } from "../../observability/logger.ts";
import { describeEvent } from "../event_span.ts";
import { getCorrelationId } from "../http/correlation_id.ts";
import type { LambdaContext } from "../http/lambda.ts";
import { getTraceContext } from "../http/trace_id.ts";
import {
  type EventReader,
  type LambdaHandler,
  observeHandler,
  type WrapperMetadata,
} from "../with_observability.ts";
import { findCorrelationId } from "./correlation.ts";
import { toLoggableEvent } from "../loggable_message.ts";
import { toServerError } from "./trigger_failure.ts";
import { checkHandler, type TriggerHandler, type TriggerOptions } from "./trigger_options.ts";

/** Work of a trigger on one event. */
export type TriggerWork<E, R> = (
  event: E,
  context: LambdaContext,
  metadata: WrapperMetadata,
) => R | Promise<R>;

/**
 * Adds observability to a trigger without a client. The correlation id comes from the message. Every error counts as a
 * failure of the service: it is logged and thrown to the platform.
 *
 * @param name Name of the user's function.
 * @param options The trigger's options.
 * @param listCorrelationIds Returns what may be the correlation id of an event, best first. Must accept any event.
 * @param work The work.
 * @param toLoggable Returns a copy of the event for the log.
 * @returns The function for Lambda.
 */
export function observeTrigger<E, R>(
  name: string,
  options: TriggerOptions,
  listCorrelationIds: (event: E) => readonly unknown[],
  work: TriggerWork<E, R>,
  toLoggable: (event: E) => unknown = toLoggableEvent,
): LambdaHandler<E, R> {
  const { operationName, logging, metrics, tracing } = options;
  const reader: EventReader<E> = {
    getCorrelationId: (event, context) =>
      findCorrelationId(listCorrelationIds(event)) ?? getCorrelationId(undefined, context),
    getTraceContext: (_event, readEnvironment) => getTraceContext(undefined, readEnvironment),
    describeSpan: describeEvent,
    toLoggable,
  };

  async function run(event: E, context: LambdaContext, metadata: WrapperMetadata): Promise<R> {
    try {
      return await work(event, context, metadata);
    } catch (error) {
      throw toServerError(error);
    }
  }

  return observeHandler(run, { operationName, logging, metrics, tracing }, reader, name);
}

/** What a factory does with the events of its trigger. */
export interface TriggerParts<E, R> {
  /**
   * Returns what may be the correlation id of an event, best first. Must accept any event.
   * @default () => []
   */
  readonly listCorrelationIds?: (event: E) => readonly unknown[];
  /** The work on an event. */
  readonly work: TriggerWork<E, R>;
  /** Returns a copy of the event for the log. */
  readonly toLoggable?: (event: E) => unknown;
}

/**
 * Returns the function for Lambda of a user's function.
 *
 * @param factory Name of the factory, for messages.
 * @param options The trigger's options, which are checked.
 * @param handler The user's function.
 * @param parts What happens with events.
 * @throws {ConfigurationError} If `handler` is not a function.
 */
export function wrapTrigger<E, R, F>(
  factory: string,
  options: TriggerOptions,
  handler: F,
  { listCorrelationIds = () => [], work, toLoggable }: TriggerParts<E, R>,
): TriggerHandler<E, R, F> {
  checkHandler(factory, handler);
  const { name } = handler as { name: string };
  const lambda = observeTrigger(name, options, listCorrelationIds, work, toLoggable);
  return record(factory, [options, handler], Object.assign(lambda, { handler }));
}

/**
 * Adds fields to every further log line of the current invocation.
 *
 * @param fields Ids to search for, never message contents.
 */
export function addLogFields(fields: LogFields): void {
  const invocation = currentInvocation();
  if (invocation === undefined) return;
  invocation.fields += renderFields(fields, invocation.redact);
}
