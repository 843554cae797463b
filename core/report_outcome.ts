import { AppError } from "../errors/app_error.ts";
import { isLevelEnabled, log, renderLine } from "../observability/logger.ts";
import { reportFailure } from "../observability/report_failure.ts";
import { endSpan } from "../observability/tracer.ts";
import { isClientError } from "./client_error.ts";
import type { HandlerInvocation } from "./handler_invocation.ts";
import type { HandlerSettings } from "./handler_settings.ts";
import { toLoggable } from "./loggable_message.ts";

/** Outcome of an invocation. */
export interface Outcome {
  /** The error, in an object because `undefined` can be thrown too. */
  readonly failure?: { readonly error: unknown };
  /** The result, also of a failed invocation if an error became a response. */
  readonly result?: unknown;
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
  invocation: HandlerInvocation,
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
  invocation: HandlerInvocation,
  settings: HandlerSettings,
  { failure, result }: Outcome,
): void {
  const { operationName, isTimed, summary, logResult, addOutcomeMetrics } = settings;
  const isFailed = failure !== undefined && !isClientError(failure.error);
  const status = (result as { statusCode?: unknown } | null | undefined)?.statusCode;
  const statusCode = typeof status === "number" ? status : undefined;
  if (logResult && result !== undefined && isLevelEnabled("DEBUG")) {
    log("DEBUG", "result", { result: toLoggable(result) });
  }
  const durationMs = isTimed ? performance.now() - invocation.startedMs : undefined;
  if (isFailed || summary) {
    const fields = describeOutcome(operationName, failure, isFailed, statusCode, durationMs);
    const [level, message] = isFailed
      ? ["ERROR", "request failed"] as const
      : ["INFO", "request completed"] as const;
    const line = renderLine(invocation, level, message, fields);
    if (invocation.settings.metricsInSummary) invocation.summary = line;
    else invocation.append(line);
  }
  if (durationMs !== undefined) addOutcomeMetrics?.(invocation, durationMs, isFailed);
  endRootSpan(
    invocation,
    isFailed ? failure.error ?? new AppError("UNEXPECTED") : undefined,
    statusCode,
  );
}

function describeOutcome(
  operation: string,
  failure: Outcome["failure"],
  isFailed: boolean,
  status: number | undefined,
  durationMs: number | undefined,
): Record<string, unknown> {
  const fields: Record<string, unknown> = { operation };
  if (durationMs !== undefined) fields.duration_ms = Math.round(durationMs * 1000) / 1000;
  if (status !== undefined) fields.status = status;
  if (isFailed) fields.error = failure?.error;
  else if (failure !== undefined) fields.error_code = (failure.error as AppError).code;
  return fields;
}

function endRootSpan(
  { rootSpan, coldStart }: HandlerInvocation,
  error: unknown,
  statusCode: number | undefined,
): void {
  if (rootSpan === undefined) return;
  if (statusCode !== undefined) rootSpan.attributes["http.response.status_code"] = statusCode;
  rootSpan.attributes["faas.coldstart"] = coldStart;
  endSpan(rootSpan, error);
}
