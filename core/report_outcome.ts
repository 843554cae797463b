import { AppError, isAppError } from "../errors/app_error.ts";
import { LOG_LEVELS } from "../observability/log_level.ts";
import type { Invocation } from "../observability/invocation.ts";
import {
  isLevelEnabled,
  log,
  type LogFields,
  renderFields,
  renderLine,
} from "../observability/logger.ts";
import { addOccurrences } from "../observability/metrics.ts";
import { reportFailure } from "../observability/report_failure.ts";
import type { Span } from "../observability/span.ts";
import { endSpan } from "../observability/tracer.ts";
import { isClientError } from "./client_error.ts";
import type { HandlerSettings } from "./handler_settings.ts";
import { toLoggable } from "./loggable_message.ts";

/** Outcome of an invocation. */
export interface Outcome {
  /** Start of the invocation on the clock of `performance.now()`. */
  readonly startedMs: number;
  /** The span of the invocation, if it has one. */
  readonly span: Span | undefined;
  /** The error, in an object because `undefined` can be thrown too. */
  readonly failure?: { readonly error: unknown };
  /** The result, also of a failed invocation if an error became a response. */
  readonly result?: unknown;
  /**
   * What was handled.
   * @default "request"
   */
  readonly subject?: string;
}

/**
 * Writes the last log line, the metrics and the end of the span of an invocation. Never throws: the response must not
 * depend on its report.
 *
 * @param invocation The invocation.
 * @param settings The settings of its handler.
 * @param outcome How it ended.
 */
export function reportOutcome(
  invocation: Invocation,
  settings: HandlerSettings,
  outcome: Outcome,
): void {
  try {
    report(invocation, settings, outcome);
  } catch (error) {
    reportFailure("the report of an outcome", error);
  }
}

function report(
  invocation: Invocation,
  { operationName, summary, logResult, metrics: addsMetrics }: HandlerSettings,
  { startedMs, span, failure, result, subject = "request" }: Outcome,
): void {
  const isFailed = failure !== undefined && !isClientError(failure.error);
  const status = (result as { statusCode?: unknown } | null | undefined)?.statusCode;
  const statusCode = typeof status === "number" ? status : undefined;
  if (logResult && result !== undefined && isLevelEnabled("DEBUG")) {
    log("DEBUG", "result", { result: toLoggable(result) });
  }
  const durationMs = Math.round((performance.now() - startedMs) * 1000) / 1000;
  const level = isFailed ? "ERROR" : "INFO";
  // a misconfigured function fails until its configuration is fixed: the line is written with level SILENT too
  const isLogged = LOG_LEVELS[level] >= invocation.level ||
    (isFailed && isAppError(failure.error) && failure.error.code === "CONFIGURATION");
  if ((isFailed || summary) && isLogged) {
    const fields = {
      operation: operationName,
      duration_ms: durationMs,
      status: statusCode,
      ...describeFailure(failure, isFailed),
    };
    const message = `${subject} ${isFailed ? "failed" : "completed"}`;
    const line = renderLine(invocation, level, message, renderFields(fields, invocation.redact));
    if (invocation.settings.metricsInSummary) invocation.summary = line;
    else invocation.append(line);
  }
  if (addsMetrics) {
    addOccurrences({ operationName }, [
      ["Duration", "Milliseconds", durationMs],
      ["Errors", "Count", isFailed ? 1 : 0],
      ["ColdStart", "Count", invocation.coldStart ? 1 : 0],
    ]);
  }
  if (span === undefined) return;
  if (statusCode !== undefined) span.attributes["http.response.status_code"] = statusCode;
  span.attributes["faas.coldstart"] = invocation.coldStart;
  endSpan(span, isFailed ? failure.error ?? new AppError("UNEXPECTED") : undefined);
}

function describeFailure(failure: Outcome["failure"], isFailed: boolean): LogFields {
  if (failure === undefined) return {};
  const { error } = failure;
  if (isFailed) return { error };
  const { code, details } = error as AppError;
  return { error_code: code, reason: details?.reason };
}
