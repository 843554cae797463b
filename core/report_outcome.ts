import { AppError, isAppError } from "../errors/app_error.ts";
import { LOG_LEVELS } from "../observability/log_level.ts";
import { isLevelEnabled, log, renderFields, renderLineWith } from "../observability/logger.ts";
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
  const { operationField, isTimed, summary, logResult, addOutcomeMetrics } = settings;
  const isFailed = failure !== undefined && !isClientError(failure.error);
  const status = (result as { statusCode?: unknown } | null | undefined)?.statusCode;
  const statusCode = typeof status === "number" ? status : undefined;
  if (logResult && result !== undefined && isLevelEnabled("DEBUG")) {
    log("DEBUG", "result", { result: toLoggable(result) });
  }
  const durationMs = isTimed ? performance.now() - invocation.startedMs : undefined;
  const level = isFailed ? "ERROR" : "INFO";
  // a misconfigured function fails until its configuration is fixed: the line is written with level SILENT too
  const isLogged = LOG_LEVELS[level] >= invocation.level ||
    (isFailed && isAppError(failure.error) && failure.error.code === "CONFIGURATION");
  if ((isFailed || summary) && isLogged) {
    const message = isFailed ? "request failed" : "request completed";
    const fields = operationField + renderNumbers(invocation.redact, durationMs, statusCode) +
      renderFailure(invocation.redact, failure, isFailed);
    const line = renderLineWith(invocation, level, message, fields);
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

/** Renders the duration and the status. Their names are not secret, unless the handler says so. */
function renderNumbers(
  redact: HandlerInvocation["redact"],
  durationMs: number | undefined,
  status: number | undefined,
): string {
  const rounded = durationMs === undefined ? undefined : Math.round(durationMs * 1000) / 1000;
  // a handler of another trigger may return any number
  if (redact !== undefined || (status !== undefined && !Number.isFinite(status))) {
    return renderFields({ duration_ms: rounded, status }, redact);
  }
  return (rounded === undefined ? "" : `,"duration_ms":${rounded}`) +
    (status === undefined ? "" : `,"status":${status}`);
}

function renderFailure(
  redact: HandlerInvocation["redact"],
  failure: Outcome["failure"],
  isFailed: boolean,
): string {
  if (failure === undefined) return "";
  const { error } = failure;
  return renderFields(isFailed ? { error } : { error_code: (error as AppError).code }, redact);
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
