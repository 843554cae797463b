import { AppError, isAppError } from "../errors/app_error.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import {
  enterInvocation,
  isThenable,
  resumeInvocation,
} from "../observability/invocation_context.ts";
import { LOG_LEVELS, parseLogLevel } from "../observability/log_level.ts";
import { isLevelEnabled, log, type LogFields, renderFields } from "../observability/logger.ts";
import { createOutcomeMetrics } from "../observability/outcome_metrics.ts";
import { reportFailure } from "../observability/report_failure.ts";
import { endSpan, startSpan } from "../observability/tracer.ts";
import { settleInTime } from "./async/deadline.ts";
import { HandlerInvocation } from "./handler_invocation.ts";
import type { LambdaContext } from "./http/lambda.ts";
import { toLoggable } from "./loggable_message.ts";
import { checkLoggingConfig, type LoggingConfig } from "./logging_config.ts";
import { ReturnedError } from "./http/returned_error.ts";
import { getTraceContext } from "./http/trace_id.ts";

/** What every handler is told about its invocation. */
export interface WrapperMetadata {
  /** Goes through logs, responses and calls to others. */
  correlationId: string;
  /** X-Ray or W3C trace id, when the caller sent one. */
  traceId: string | undefined;
  /** Lambda's id of this invocation. */
  requestId: string;
  /** The handler's name in metrics and spans. */
  operationName: string;
  /** Whether this is the first invocation of the process. */
  coldStart: boolean;
}

/** Options of {@link withObservability}. */
export interface ObservabilityOptions<E = unknown, R = unknown> {
  /**
   * Name in metrics and spans.
   * @default the function's own name
   */
  operationName?: string;
  /** How it logs. */
  logging?: LoggingConfig;
  /**
   * Whether each invocation adds `Duration`, `Errors` and, the first time, `ColdStart` with the dimension `operationName`.
   * @default true
   */
  metrics?: boolean;
  /**
   * Whether each invocation has a span.
   * @default true
   */
  tracing?: boolean;
  /**
   * Turns a failure into a result. Without it the failure is thrown to the platform.
   */
  respondToError?: (error: unknown, context: LambdaContext, event: E) => R;
}

/** A function for Lambda. */
export type LambdaHandler<E, R> = (event: E, context: LambdaContext) => Promise<R>;

let coldStart = true;

/** The name is a dimension of metrics, whose values CloudWatch limits. */
const MAX_NAME = 1024;

/**
 * Wraps a handler of any trigger: a correlation id, one log line, metrics and a span for each invocation, written at
 * once when it ends; and an answer before the platform's deadline instead of none.
 *
 * @param handler Called with the event, Lambda's context and the metadata.
 * @param options Name, logging, what to do about failures.
 * @returns The function to export.
 * @throws {ConfigurationError} When an option cannot be meant.
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
  handler: (
    event: E,
    context: LambdaContext,
    metadata: WrapperMetadata,
  ) => R | ReturnedError | Promise<R | ReturnedError>,
  options: ObservabilityOptions<E, R> = {},
): LambdaHandler<E, R> {
  const { logging = {}, tracing = true, metrics: measured = true, respondToError } = options;
  checkLoggingConfig(logging);
  const operationName = options.operationName || handler.name || "handler";
  if (typeof operationName !== "string" || operationName.length > MAX_NAME) {
    throw new ConfigurationError(
      `operationName is ${
        String(operationName).slice(0, 80)
      }: it must be a text of at most ${MAX_NAME} characters`,
    );
  }
  const level = parseLogLevel(logging.level);
  const redact = logging.redact === undefined
    ? undefined
    : new Set(logging.redact.map((name) => name.toLowerCase()));
  const fields = logging.fields === undefined ? "" : renderFields(logging.fields, redact);
  const { logEvent = false, logResult = false, summary = true, sampleRate = 0 } = logging;
  const addOutcome = createOutcomeMetrics(operationName);
  // the clock costs as much as all the rest of a call that writes nothing
  const timed = summary || measured;

  function begin(event: E, context: LambdaContext): HandlerInvocation {
    const invocation = new HandlerInvocation(
      operationName,
      event,
      context,
      getTraceContext(event, tracing),
      coldStart,
    );
    coldStart = false;
    if (level !== undefined) invocation.level = LOG_LEVELS[level];
    if (sampleRate > 0 && Math.random() < sampleRate) {
      invocation.level = Math.min(invocation.level, LOG_LEVELS.DEBUG);
    }
    invocation.redact = redact;
    invocation.fields = fields;
    return invocation;
  }

  /** Everything up to the handler's answer, or to the promise of one. Nothing here waits, so that nothing has to be resumed. */
  function run(invocation: HandlerInvocation): R | Promise<R> {
    const { event, context } = invocation as { event: E; context: LambdaContext };
    if (timed) invocation.startTimer();
    if (tracing) invocation.rootSpan = startSpan(operationName);
    let result: R | ReturnedError | Promise<R | ReturnedError>;
    try {
      if (invocation.settings.unknownLevel !== undefined) {
        warnOfUnknownLevel(invocation.settings.unknownLevel);
      }
      if (logEvent && isLevelEnabled("DEBUG")) {
        log("DEBUG", "event", { event: toLoggable(event, redact) });
      }
      result = handler(event, context, getMetadata(invocation));
    } catch (error) {
      return fail(invocation, error);
    }
    return isThenable(result) ? settle(invocation, result) : succeed(invocation, result);
  }

  async function settle(
    invocation: HandlerInvocation,
    pending: PromiseLike<R | ReturnedError>,
  ): Promise<R> {
    let result: R | ReturnedError;
    try {
      result = await settleInTime(invocation, pending);
    } catch (error) {
      return resumeInvocation(invocation, () => fail(invocation, error));
    }
    return resumeInvocation(invocation, () => succeed(invocation, result));
  }

  function succeed(invocation: HandlerInvocation, result: R | ReturnedError): R {
    if (result instanceof ReturnedError) return fail(invocation, result.error);
    conclude(invocation, undefined, result);
    return result;
  }

  function fail(invocation: HandlerInvocation, error: unknown): R {
    let result: R | undefined;
    try {
      if (respondToError === undefined) throw error;
      return result = respondToError(error, invocation.context, invocation.event as E);
    } finally {
      conclude(invocation, { error }, result);
    }
  }

  /** Reports the outcome. It never throws: the answer must not depend on what is told about it. */
  function conclude(
    invocation: HandlerInvocation,
    failure: { error: unknown } | undefined,
    result: R | undefined,
  ): void {
    try {
      report(invocation, failure, result);
    } catch (error) {
      reportFailure("the report of an outcome", error);
    }
  }

  function report(
    invocation: HandlerInvocation,
    failure: { error: unknown } | undefined,
    result: R | undefined,
  ): void {
    const { rootSpan, coldStart } = invocation;
    if (logResult && result !== undefined && isLevelEnabled("DEBUG")) {
      log("DEBUG", "result", { result: toLoggable(result) });
    }
    const statusCode = (result as { statusCode?: unknown } | null | undefined)?.statusCode;
    const fault = failure !== undefined && !isClientFault(failure.error);
    if (fault || timed) {
      const durationMs = timed ? performance.now() - invocation.startedMs : undefined;
      if (fault || summary) logOutcome(operationName, failure, fault, statusCode, durationMs);
      if (durationMs !== undefined && measured) addOutcome(invocation, durationMs, fault);
    }
    if (rootSpan === undefined) return;
    if (typeof statusCode === "number") {
      rootSpan.attributes["http.response.status_code"] = statusCode;
    }
    rootSpan.attributes["faas.coldstart"] = coldStart;
    endSpan(rootSpan, fault ? failure?.error ?? new AppError("UNEXPECTED") : undefined);
  }

  return function observed(event: E, context: LambdaContext): Promise<R> {
    return enterInvocation(begin(event, context), run);
  };
}

function getMetadata(
  { correlationId, traceId, requestId, operationName, coldStart }: HandlerInvocation,
): WrapperMetadata {
  return { correlationId, traceId, requestId, operationName, coldStart };
}

/** Whether the caller, not the service, is at fault: an error of ours below status 500. */
function isClientFault(error: unknown): boolean {
  try {
    return isAppError(error) && error.statusCode < 500;
  } catch {
    return false;
  }
}

function logOutcome(
  operation: string,
  failure: { error: unknown } | undefined,
  fault: boolean,
  statusCode: unknown,
  durationMs: number | undefined,
): void {
  const fields: Record<string, unknown> = { operation };
  if (durationMs !== undefined) fields.duration_ms = Math.round(durationMs * 1000) / 1000;
  if (typeof statusCode === "number") fields.status = statusCode;
  if (!fault) {
    if (failure !== undefined) fields.error_code = (failure.error as AppError).code;
    log("INFO", "request completed", fields);
    return;
  }
  fields.error = failure?.error;
  log("ERROR", "request failed", fields as LogFields);
}

let warnedOf: string | undefined;

function warnOfUnknownLevel(value: string): void {
  if (value === warnedOf) return;
  warnedOf = value;
  log(
    "WARN",
    "LOG_LEVEL names no level, INFO is used: take TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL or SILENT",
    {
      value,
    },
  );
}
