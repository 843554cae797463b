import type { Invocation } from "./invocation.ts";
import { quote } from "./logger.ts";
import { renderMetricDocument, renderMetricNames } from "./metric_document.ts";

const DURATION = ["Duration", "Milliseconds"] as const;
const ERRORS = ["Errors", "Count"] as const;
const COLD_START = ["ColdStart", "Count"] as const;

/**
 * Makes the function that tells CloudWatch how an invocation ended: `Duration`, `Errors` and, the first time of the process,
 * `ColdStart`, with the dimension `operationName`. The line waits for the invocation's one write.
 *
 * @param operationName The handler's name.
 */
export function createOutcomeMetrics(
  operationName: string,
): (invocation: Invocation, durationMs: number, failed: boolean) => void {
  const operation = `,"operationName":${quote(operationName)}`;
  let namespace: string | undefined;
  let names = "";

  function namesFor(invocation: Invocation): string {
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
    invocation.append(renderMetricDocument(settings, namesFor(invocation), members));
  };
}
