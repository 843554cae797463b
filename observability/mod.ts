/**
 * Logs, metrics and spans in the formats of existing dashboards and queries for Lambda: JSON lines with the field names
 * of Powertools, CloudWatch's embedded metric format, and spans with W3C ids that become OpenTelemetry spans if a
 * provider is registered. The output of an invocation is written in one write.
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
export { runOutsideInvocation } from "./invocation_context.ts";
export { type LogLevel } from "./log_level.ts";
export { logDebug, logError, type LogFields, logInfo, logWarn } from "./logger.ts";
export { MetricUnit } from "./metric_unit.ts";
export { type MetricDatum, type Metrics, metrics } from "./metrics.ts";
export { type LogOutput, setLogOutput } from "./output.ts";
export { redactValue } from "./redact.ts";
export type { Span, SpanAttribute, SpanKind } from "./span.ts";
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
