import { escapeControls, quote } from "./logger.ts";
import type { MetricSettings } from "./settings.ts";

/**
 * The part of a document of CloudWatch's embedded metric format that depends on names only.
 *
 * @param namespace Where the metrics are filed.
 * @param dimensions Names of the dimensions beside `service`.
 * @param metrics Names and units.
 */
export function renderMetricNames(
  namespace: string,
  dimensions: readonly string[],
  metrics: readonly (readonly [name: string, unit: string])[],
): string {
  return escapeControls(JSON.stringify([{
    Namespace: namespace,
    Dimensions: [["service", ...dimensions]],
    Metrics: metrics.map(([Name, Unit]) => ({ Name, Unit })),
  }]));
}

/**
 * A whole document, as a line.
 *
 * @param settings Says the service.
 * @param names What {@link renderMetricNames} gave.
 * @param members Values of dimensions and metrics: `,"operationName":"Double","Errors":0`.
 */
export function renderMetricDocument(
  settings: MetricSettings,
  names: string,
  members: string,
): string {
  return `{"_aws":{"Timestamp":${Date.now()},"CloudWatchMetrics":${names}},"service":${
    quote(settings.service)
  }${members}}\n`;
}
