import { escapeControls, quote } from "./logger.ts";
import type { MetricDocument } from "./metric_group.ts";
import type { MetricSettings } from "./settings.ts";

/**
 * Renders the part of a document that depends on names only.
 *
 * @param namespace The namespace of the metrics.
 * @param dimensions Names of the dimensions beside `service`.
 * @param metrics Names and units.
 * @returns One entry of `_aws.CloudWatchMetrics`.
 */
export function renderMetricNames(
  namespace: string,
  dimensions: readonly string[],
  metrics: readonly (readonly [name: string, unit: string])[],
): string {
  return escapeControls(JSON.stringify({
    Namespace: namespace,
    Dimensions: [["service", ...dimensions]],
    Metrics: metrics.map(([Name, Unit]) => ({ Name, Unit })),
  }));
}

/**
 * Renders a document as a line.
 *
 * @param settings The name of the service.
 * @param document The document.
 * @param invocation Its summary becomes a part of the document, if it waits for one and no member has two values.
 */
export function renderMetricDocument(
  settings: MetricSettings,
  { directives, members }: MetricDocument,
  invocation?: { summary: string },
): string {
  const metrics = `"_aws":{"Timestamp":${Date.now()},"CloudWatchMetrics":[${directives}]}`;
  const summary = invocation?.summary;
  if (!summary || !canJoin(summary, members)) {
    return `{${metrics},"service":${quote(settings.service)}${members}}\n`;
  }
  invocation!.summary = "";
  // the summary names the service
  return `${summary.slice(0, -2)},${metrics}${members}}\n`;
}

/** Checks that a log line has none of the members. Quotes within texts are escaped, so that each match is a name. */
function canJoin(line: string, members: string): boolean {
  return Object.keys(JSON.parse(`{${members.slice(1)}}`)).every((name) =>
    !line.includes(`${quote(name)}:`)
  );
}
