import { sourceState } from "../env/source_state.ts";
import { Invocation } from "../observability/invocation.ts";
import { enterInvocation } from "../observability/invocation_context.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { LOG_LEVELS } from "../observability/log_level.ts";
import { isLevelEnabled, log } from "../observability/logger.ts";
import type { Span } from "../observability/span.ts";
import { toXrayTraceId, type TraceContext } from "../observability/trace_context.ts";
import { startSpan } from "../observability/tracer.ts";
import { getDeadline, withinDeadline } from "./async/deadline.ts";
import {
  type HandlerSettings,
  type ObservabilityOptions,
  readHandlerSettings,
} from "./handler_settings.ts";
import { describeEvent, type SpanDescription } from "./event_span.ts";
import { getCorrelationId } from "./http/correlation_id.ts";
import type { LambdaContext } from "./http/lambda.ts";
import { getTraceContext } from "./http/trace_id.ts";
import { toLoggable } from "./loggable_message.ts";
import { remainingMs } from "./request_context.ts";
import { reportOutcome } from "./report_outcome.ts";

/** The ids of an invocation, as handlers receive them. */
export interface WrapperMetadata {
  /** Id that appears in logs, responses and outgoing calls. */
  correlationId: string;
  /** X-Ray or W3C trace id, if the caller sent one. */
  traceId: string | undefined;
  /** Lambda's id of this invocation. */
  requestId: string;
  /** The handler's name in metrics and spans. */
  operationName: string;
  /** True for the first invocation of the process. */
  coldStart: boolean;
}

/** A function for Lambda. */
export type LambdaHandler<E, R> = (event: E, context: LambdaContext) => Promise<R>;

/** A handler to observe. */
export type ObservedHandler<E, R> = (
  event: E,
  context: LambdaContext,
  metadata: WrapperMetadata,
) => R | Promise<R>;

/** The functions that read one kind of event. */
export interface EventReader<E> {
  getCorrelationId(event: E, context: LambdaContext): string;
  describeSpan(event: E): SpanDescription;
  getTraceContext(event: E, readEnvironment: boolean): TraceContext | undefined;
  toLoggable(event: E, redact: ReadonlySet<string> | undefined): unknown;
  /**
   * What an event is in the log.
   * @default "request"
   */
  readonly subject?: string;
}

/** Reads HTTP events, and any other event as one without headers. */
export const HTTP_EVENTS: EventReader<unknown> = {
  getCorrelationId,
  getTraceContext,
  toLoggable,
  describeSpan: describeEvent,
};

/**
 * Wraps a handler of any trigger. Each invocation gets a correlation id, one log line, metrics and a span, which are
 * written together when it ends. Shortly before the deadline of the platform the invocation fails with
 * `DeadlineExceededError`.
 *
 * @param handler Called with the event, Lambda's context and the ids of the invocation.
 * @param options Name, logging, and how to respond to errors.
 * @returns The function to export.
 * @throws {ConfigurationError} If an option is invalid, or the handler is not a function.
 *
 * @example
 * ```ts
 * import { withObservability } from "@trellis/fn/core";
 * import { createLambdaContext } from "@trellis/fn/testing";
 *
 * const handler = withObservability(
 *   (event: { n: number }) => event.n * 2,
 *   { operationName: "Double", logging: { summary: false }, metrics: false },
 * );
 * console.log(await handler({ n: 21 }, createLambdaContext())); // 42
 * ```
 */
export function withObservability<E, R>(
  handler: ObservedHandler<E, R>,
  options: ObservabilityOptions<E, R> = {},
): LambdaHandler<E, R> {
  if (typeof handler !== "function") {
    throw new ConfigurationError(
      `withObservability(handler, options) got ${typeof handler} as the handler: it must be a function`,
    );
  }
  return observeHandler(handler, options, HTTP_EVENTS, handler.name);
}

/**
 * Wraps a handler as {@link withObservability} does, with the ids that `reader` finds in an event.
 *
 * @param handler The handler.
 * @param options Name, logging, and how to respond to errors.
 * @param reader Reads the kind of event that the handler takes.
 * @param functionName The name of the user's function.
 * @returns The function to export.
 * @throws {ConfigurationError} If an option is invalid.
 */
export function observeHandler<E, R>(
  handler: ObservedHandler<E, R>,
  options: ObservabilityOptions<E, R>,
  reader: EventReader<E>,
  functionName: string,
): LambdaHandler<E, R> {
  const settings = readHandlerSettings(functionName, options as ObservabilityOptions);
  const { respondToError } = options;

  async function work(invocation: Invocation, event: E, context: LambdaContext): Promise<R> {
    await sourceState.refresh?.();
    logStart(invocation, settings, () => reader.toLoggable(event, settings.redact));
    return await handler(event, context, getMetadata(invocation));
  }

  return function observed(event: E, context: LambdaContext): Promise<R> {
    // that the function answers is the answer: nothing runs, and nothing is logged
    if (isLoadProbe(event)) return Promise.resolve({ statusCode: 204 } as R);
    const startedMs = performance.now();
    const invocation = createInvocation(event, context, settings, reader);
    invocation.deadlineMs = getDeadline(context, startedMs);
    return enterInvocation(invocation, async () => {
      const span = settings.tracing
        ? startInvocationSpan(invocation, settings, context, reader.describeSpan(event))
        : undefined;
      let failure: { readonly error: unknown } | undefined;
      let result: R | undefined;
      try {
        return result = await withinDeadline(invocation, work(invocation, event, context), span);
      } catch (error) {
        failure = { error };
        if (respondToError === undefined) throw error;
        return result = respondToError(error, context, event);
      } finally {
        reportOutcome(invocation, settings, {
          startedMs,
          span,
          failure,
          result,
          subject: reader.subject,
        });
      }
    });
  };
}

/** Property of the event with which a deployment loads a new version of a function. No trigger sends such an event. */
export const LOAD_PROBE = "trellis:load";

function isLoadProbe(event: unknown): boolean {
  return (event as { [LOAD_PROBE]?: unknown } | null | undefined)?.[LOAD_PROBE] === true;
}

/** Starts the span of an invocation, named `GET /notes/{id}` unless the handler has an `operationName`. */
function startInvocationSpan(
  invocation: Invocation,
  { operationName, isNamed }: HandlerSettings,
  context: LambdaContext,
  { name, kind, attributes }: SpanDescription,
): Span {
  const span = startSpan(isNamed ? operationName : name ?? operationName, {
    kind,
    attributes: { "faas.invocation_id": invocation.requestId, ...attributes },
  });
  const arn = context?.invokedFunctionArn;
  if (arn !== undefined) span.attributes["aws.lambda.invoked_arn"] = arn;
  // a provider starts its own trace where the request has no parent
  if (invocation.traceId !== undefined) {
    invocation.traceId = invocation.traceId.startsWith("1-")
      ? toXrayTraceId(span.traceId)
      : span.traceId;
  }
  return span;
}

sourceState.remainingMs = remainingMs;

let coldStart = true;

function createInvocation<E>(
  event: E,
  context: LambdaContext,
  { operationName, tracing, level, sampleRate, redact, fields }: HandlerSettings,
  reader: EventReader<E>,
): Invocation {
  const correlationId = reader.getCorrelationId(event, context);
  const trace = reader.getTraceContext(event, tracing);
  const invocation = new Invocation({
    correlationId,
    requestId: context?.awsRequestId ?? correlationId,
    traceId: trace?.traceId,
    parentSpanId: trace?.parentId,
    sampled: trace?.sampled,
    operationName,
    functionName: context?.functionName,
    coldStart,
  });
  coldStart = false;
  invocation.event = event;
  if (level !== undefined) invocation.level = level;
  if (sampleRate > 0 && Math.random() < sampleRate) {
    invocation.level = Math.min(invocation.level, LOG_LEVELS.DEBUG);
  }
  invocation.redact = redact;
  invocation.fields = fields;
  return invocation;
}

function getMetadata(
  { correlationId, traceId, requestId, operationName, coldStart }: Invocation,
): WrapperMetadata {
  return { correlationId, traceId, requestId, operationName, coldStart };
}

function logStart(
  { settings: { unknownLevel } }: Invocation,
  { logEvent }: HandlerSettings,
  getEvent: () => unknown,
): void {
  if (unknownLevel !== undefined) warnOfUnknownLevel(unknownLevel);
  if (logEvent && isLevelEnabled("DEBUG")) log("DEBUG", "event", { event: getEvent() });
}

let reportedLevel: string | undefined;

function warnOfUnknownLevel(value: string): void {
  if (value === reportedLevel) return;
  reportedLevel = value;
  log(
    "WARN",
    "LOG_LEVEL is not a known level, INFO is used: set it to TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL or SILENT",
    { value },
  );
}
