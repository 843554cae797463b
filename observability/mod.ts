/**
 * Logs, metrics and spans in the forms that dashboards and queries for Lambda already read: JSON lines with the field
 * names of Powertools, CloudWatch's embedded metric format, spans with W3C ids that become OpenTelemetry's when a
 * provider is registered. All output of one invocation leaves in one write.
 *
 * @example
 * ```ts
 * import { logInfo, metrics, MetricUnit, setLogOutput, withSpan } from "@trellis/fn/observability";
 *
 * const restore = setLogOutput(() => {}); // keeps this example quiet
 * await withSpan("import notes", () => {
 *   logInfo("notes imported", { count: 3 });
 *   metrics.addMetric("NotesImported", MetricUnit.Count, 3);
 * });
 * restore();
 * ```
 *
 * @module
 */
export { describeError, type ErrorDescription } from "./describe_error.ts";
export { Invocation, type InvocationStart } from "./invocation.ts";
export {
  allowOverlap,
  currentInvocation,
  enterInvocation,
  isThenable,
  resumeInvocation,
  runInvocation,
  runOutsideInvocation,
} from "./invocation_context.ts";
export { LOG_LEVELS, type LogLevel, parseLogLevel } from "./log_level.ts";
export {
  isLevelEnabled,
  log,
  logDebug,
  logError,
  type LogFields,
  logInfo,
  logWarn,
  quote,
  renderFields,
} from "./logger.ts";
export { MetricUnit } from "./metric_unit.ts";
export type { MetricGroup } from "./metric_group.ts";
export { createMetricRecorder, type MetricDatum, type Metrics, metrics } from "./metrics.ts";
export { createOutcomeMetrics } from "./outcome_metrics.ts";
export { type LogOutput, setLogOutput } from "./output.ts";
export { redactValue } from "./redact.ts";
export { REDACTED, redactText } from "./redact_text.ts";
export { reportFailure } from "./report_failure.ts";
export { getSettings, type ObservabilitySettings } from "./settings.ts";
export type { Span, SpanAttribute } from "./span.ts";
export { parseTraceparent, parseXrayHeader, toW3cTraceId, type TraceContext } from "./trace_context.ts";
export {
  addAnnotation,
  addMetadata,
  endSpan,
  onSpanEnd,
  type SpanListener,
  startSpan,
  type StartSpanOptions,
  withSpan,
} from "./tracer.ts";
