import { currentInvocation } from "../../observability/invocation_context.ts";
import { isLevelEnabled, log, type LogFields, renderFields } from "../../observability/logger.ts";
import type { LambdaContext } from "../http/lambda.ts";
import {
  type LambdaHandler,
  withObservability,
  type WrapperMetadata,
} from "../with_observability.ts";
import { firstCorrelationId, headersWith } from "./correlation.ts";
import { toLoggableEvent } from "./loggable_event.ts";
import { toFault } from "./trigger_failure.ts";
import type { TriggerOptions } from "./trigger_options.ts";

/** The event with its correlation id where {@link withObservability} looks for it. */
interface CarriedEvent<E> {
  headers: Record<string, string>;
  event: E;
}

/**
 * Puts observability around the handler of a trigger that has no client: the correlation id comes out of the message,
 * and every failure is one of the service, logged and thrown to the platform.
 *
 * @param name Name of the user's function.
 * @param options The trigger's options.
 * @param correlationIdsOf What an event says of its correlation, best first. It must bear any event.
 * @param work The work.
 * @returns The function for Lambda.
 */
export function observeTrigger<E, R>(
  name: string,
  options: TriggerOptions,
  correlationIdsOf: (event: E) => readonly unknown[],
  work: (event: E, context: LambdaContext, metadata: WrapperMetadata) => R | Promise<R>,
): LambdaHandler<E, R> {
  const { logging = {}, metrics, tracing } = options;

  async function run(
    { event }: CarriedEvent<E>,
    context: LambdaContext,
    metadata: WrapperMetadata,
  ): Promise<R> {
    if (logging.logEvent && isLevelEnabled("DEBUG")) {
      log("DEBUG", "event", { event: toLoggableEvent(event) });
    }
    try {
      return await work(event, context, metadata);
    } catch (error) {
      throw toFault(error);
    }
  }

  const observed = withObservability<CarriedEvent<E>, R>(run, {
    operationName: options.operationName || name || "handler",
    logging: { ...logging, logEvent: false },
    metrics,
    tracing,
  });
  return function trigger(event: E, context: LambdaContext): Promise<R> {
    return observed(
      { headers: headersWith(firstCorrelationId(correlationIdsOf(event))), event },
      context,
    );
  };
}

/**
 * Adds fields to every log line that the current invocation writes from now on.
 *
 * @param fields Facts to search for: ids, never contents.
 */
export function addLogFields(fields: LogFields): void {
  const invocation = currentInvocation();
  if (invocation === undefined) return;
  invocation.fields += renderFields(fields, invocation.redact);
  invocation.linePrefix = undefined;
}
