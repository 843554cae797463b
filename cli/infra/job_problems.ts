import type { Problem } from "./infra_plan.ts";
import { readsChanges } from "./change_consumers.ts";
import { isRelay, runsInsertedJobs } from "./job_files.ts";
import type { ResourcePlan } from "./plan_resources.ts";

/**
 * Finds consumers of the change stream that it does not reach: it belongs to the generated cluster.
 */
export function findJobErrors({ functions, getEnvironment }: ResourcePlan): Problem[] {
  return functions.filter(readsChanges).flatMap((fn): Problem[] => {
    const { name, kind } = fn;
    if (runsInsertedJobs(fn) && kind !== "standalone") {
      const message =
        `${name} is in ${kind}/, but defineJobStreamHandler has a stream of its own: ` +
        "move the file to standalone/";
      return [{ message, functionName: name }];
    }
    if (getEnvironment(name).usesCluster) return [];
    const message = `${name} reads the change stream of Aurora DSQL, but does not connect to the ` +
      "generated cluster: read DATABASE_ENDPOINT in getDb, and leave infra.database at distsql";
    return [{ message, functionName: name }];
  });
}

/** Finds what jobs need and the project lacks. */
export function findJobWarnings({ functions }: ResourcePlan): Problem[] {
  const usesJobs = functions.some(({ jobs }) => jobs.has("enqueue") || jobs.has("work"));
  if (!usesJobs || functions.some(isRelay)) return [];
  return [{
    message: "no function is the relay of jobs, so jobs that are delayed, repeated or were not " +
      "delivered never run: add src/functions/schedule/jobs-relay.ts with defineJobRelayHandler",
  }];
}
