import { JOBS_QUEUE_VARIABLE } from "./variable_reads.ts";
import type { EnvironmentValue } from "../config/environment_value.ts";
import type { InfraFunction } from "./infra_plan.ts";
import { getResource } from "./resources.ts";

/** A configured value and the path of its setting. */
export interface GivenValue {
  readonly value: EnvironmentValue;
  readonly path: string;
}

/**
 * Finds the value of a variable: the function's own, else the shared one, else the queue of jobs.
 *
 * @param fn The function that reads it.
 * @param shared The setting `infra.environment`.
 */
export function findGiven(
  name: string,
  fn: InfraFunction,
  shared: Readonly<Record<string, EnvironmentValue>>,
  functions: readonly InfraFunction[],
): GivenValue | undefined {
  const own = fn.settings.environment ?? {};
  if (Object.hasOwn(own, name) && own[name] !== undefined) {
    return { value: own[name], path: `infra.functions.${fn.name}.environment.${name}` };
  }
  const path = `infra.environment.${name}`;
  if (Object.hasOwn(shared, name) && shared[name] !== undefined) {
    return { value: shared[name], path };
  }
  const queue = name === JOBS_QUEUE_VARIABLE ? findJobsQueue(functions) : undefined;
  return queue === undefined ? undefined : { value: { queue }, path };
}

/** Returns the name of the queue of jobs, unless several functions consume one. */
function findJobsQueue(functions: readonly InfraFunction[]): string | undefined {
  const consumers = functions.filter(({ definer }) => definer === "defineJobQueueHandler");
  return consumers.length === 1 ? getResource(consumers[0]) : undefined;
}
