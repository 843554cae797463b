import type { Invocation } from "./invocation.ts";
import { quote } from "./logger.ts";
import { renderMetricDocument, renderMetricNames } from "./metric_document.ts";

const DURATION = ["Duration", "Milliseconds"] as const;
const ERRORS = ["Errors", "Count"] as const;
const COLD_START = ["ColdStart", "Count"] as const;

/** Adds the metrics of one invocation to what the invocation writes. */
export type OutcomeMetrics = (
  invocation: Invocation,
  durationMs: number,
  failed: boolean,
) => void;

/**
 * Creates the function that records how an invocation ended: `Duration`, `Errors` and, for the first invocation of the
 * process, `ColdStart`, with the dimension `operationName`. Needs 1.1 KB in a bundle that has no other metrics.
 *
 * @param operationName The name of the handler.
 * @returns Adds the metrics of an invocation.
 */
export function createOutcomeMetrics(operationName: string): OutcomeMetrics {
  const operation = `,"operationName":${quote(operationName)}`;
  let namespace: string | undefined;
  let names = "";

  function getNames(invocation: Invocation): string {
    const { settings, coldStart } = invocation;
    if (coldStart) {
      return renderMetricNames(settings.namespace, ["operationName"], [
        DURATION,
        ERRORS,
        COLD_START,
      ]);
    }
    if (namespace !== settings.namespace) {
      namespace = settings.namespace;
      names = renderMetricNames(namespace, ["operationName"], [DURATION, ERRORS]);
    }
    return names;
  }

  return function addOutcome(invocation, durationMs, failed): void {
    const { settings, coldStart } = invocation;
    if (settings.metricsDisabled) return;
    const members = `${operation},"Duration":${durationMs},"Errors":${failed ? 1 : 0}${
      coldStart ? ',"ColdStart":1' : ""
    }`;
    invocation.outcome = { directives: getNames(invocation), members, size: 3 };
    invocation.renderMetrics ??= renderOutcome;
  };
}

/** Renders the outcome of an invocation without other metrics. */
function renderOutcome(invocation: Invocation): string {
  const { outcome, settings } = invocation;
  invocation.outcome = undefined;
  return outcome === undefined ? "" : renderMetricDocument(settings, outcome, invocation);
}
