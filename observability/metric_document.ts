import { escapeControls, quote } from "./logger.ts";
import type { MetricSettings } from "./settings.ts";

/**
 * Renders the part of a document in CloudWatch's embedded metric format that depends on names only.
 *
 * @param namespace The namespace of the metrics.
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
 * Renders a document as a line.
 *
 * @param settings The name of the service.
 * @param names The result of {@link renderMetricNames}.
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
