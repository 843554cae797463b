import { DatabaseOperation } from "../../database/table_permission.ts";
import type { Collector } from "./collector.ts";
import { isCall, type JobNeed, type Path, type Step } from "./effects.ts";
import { collectDefault } from "./package_use.ts";
import type { TableName } from "./values.ts";
import type { ts } from "./typescript.ts";

/** The table of jobs (`JOBS_MIGRATION_SQL`). */
export const JOBS_TABLE: TableName = { name: "trellis_jobs" };

const { Select, Insert, Update, Delete } = DatabaseOperation;

/** Operations on the table of jobs by its use. */
export const JOB_OPERATIONS: Readonly<Record<JobNeed, readonly DatabaseOperation[]>> = {
  enqueue: [Insert],
  work: [Select, Update],
  relay: [Select, Insert, Update, Delete],
  read: [Select],
  change: [Select, Update],
};

/** Functions of the package that use the table, beside the functions of a job. */
const NEEDS: Readonly<Record<string, JobNeed>> = {
  createJobWorker: "work",
  defineJobQueueHandler: "work",
  defineJobRelayHandler: "relay",
  defineJobStreamHandler: "work",
  listJobs: "read",
  getJob: "read",
  retryJobs: "change",
  cancelJobs: "change",
};

/** The variable with the URL of the queue of jobs. */
export const JOBS_QUEUE_VARIABLE = "JOBS_QUEUE_URL";

/** Properties of a job that run nothing. */
const METADATA: readonly Step[] = ["jobName", "schema", "settings"];

/**
 * Collects the use of a name that `@trellis/fn/jobs` exports. A function that enqueues a job does not
 * run its handler, and needs only the right to insert rows.
 *
 * @returns False if the name is none of these.
 */
export function collectJobs(c: Collector, node: ts.Node, name: string, path: Path): boolean {
  const [first, second, member, ...rest] = path;
  if (name === "createSqsDelivery") {
    if (isCall(first)) {
      const variable = { name: JOBS_QUEUE_VARIABLE, isRequired: true };
      collectDefault(c, node, first, "queueUrl", variable);
    }
    c.unknown(node, path);
    return true;
  }
  if (name === "defineJob" && isCall(first) && isCall(second)) {
    for (const argument of first.call.arguments ?? []) c.reach(argument, []);
    if (METADATA.includes(member)) return true;
    if (member === "enqueue" || member === "enqueueMany") {
      c.emit({ kind: "jobs", need: "enqueue", why: `${member} of a job`, node });
      c.release(rest);
      return true;
    }
    c.unknown(node, path);
    return true;
  }
  const need = NEEDS[name];
  if (need === undefined) return false;
  c.emit({ kind: "jobs", need, why: name, node });
  c.unknown(node, path);
  return true;
}
