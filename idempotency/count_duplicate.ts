import { metrics } from "../observability/metrics.ts";

const METRICS = { done: "IdempotentReplays", running: "IdempotentConflicts" } as const;

/**
 * Counts a duplicate in the metrics of its handler.
 *
 * @param operationName Name of the handler.
 * @param state State of the first execution.
 */
export function countDuplicate(operationName: string, state: keyof typeof METRICS): void {
  metrics.addMetricsWithDimensions({ operationName }, [[METRICS[state], "Count", 1]]);
}
