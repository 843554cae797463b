import type { MetricUnit } from "./metric_unit.ts";

/** Metrics that share a set of dimensions; they leave as one document. */
export interface MetricGroup {
  /** Beside `service`. */
  readonly dimensions: Readonly<Record<string, string>>;
  /** Values by metric, with the unit. */
  readonly values: Map<string, { unit: MetricUnit; values: number[] }>;
}
