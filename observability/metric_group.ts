import type { MetricUnit } from "./metric_unit.ts";

/** The values of one metric. */
export interface Metric {
  readonly name: string;
  readonly unit: MetricUnit;
  readonly values: number[];
}

/** Metrics with the same dimensions, which are written as one document. */
export interface MetricGroup {
  /** Dimensions besides `service`. */
  readonly dimensions: Readonly<Record<string, string>>;
  /** Metrics by name. */
  readonly metrics: Map<string, Metric>;
}

/** A line in CloudWatch's embedded metric format, before it is rendered. */
export interface MetricDocument {
  /** Entries of `_aws.CloudWatchMetrics`: results of `renderMetricNames`, separated by commas. */
  directives: string;
  /** Values of dimensions and metrics: `,"operationName":"Double","Errors":0`. */
  members: string;
  /** Number of metrics. */
  size: number;
}
