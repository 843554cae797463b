import { DatabaseOperation } from "../../database/queries/table_permission.ts";
import type { AnyJob } from "../../jobs/define_job.ts";
import { IDEMPOTENCY_TABLE } from "../../idempotency/migration.ts";
import { PARTS_TABLE, POSITIONS_TABLE } from "../../jobs/changes/migration.ts";
import { SUBSCRIPTION_TABLE } from "../../realtime/migration.ts";
import { ENTRIES_TABLE, WORKFLOWS_TABLE } from "../../workflows/migration.ts";
import type { LoadedFunction } from "../project/loaded_function.ts";
import { findUse } from "../project/value_uses.ts";
import type { TableName } from "./table_name.ts";
import type { TableNeed } from "./table_needs.ts";

const { Select, Insert, Update, Delete } = DatabaseOperation;

/** The table of jobs (`JOBS_MIGRATION_SQL`). */
export const JOBS_TABLE: TableName = { name: "trellis_jobs" };

/** A use of the table of jobs. */
export type JobNeed =
  | "enqueue"
  | "enqueueLimited"
  | "replace"
  | "replaceLimited"
  | "work"
  | "workLimited"
  | "relay"
  | "read"
  | "change"
  | "resume";

/** Operations on the table of jobs by its use. */
export const JOB_OPERATIONS: Readonly<Record<JobNeed, readonly DatabaseOperation[]>> = {
  enqueue: [Insert],
  enqueueLimited: [Insert],
  replace: [Select, Insert, Update],
  replaceLimited: [Select, Insert, Update],
  work: [Select, Update],
  // it inserts the row of a limit
  workLimited: [Select, Insert, Update],
  relay: [Select, Insert, Update, Delete],
  read: [Select],
  change: [Select, Update],
  resume: [Select, Delete],
};

/** Functions of the package that use the table of jobs, beside the functions of a job. */
const JOB_FUNCTIONS: Readonly<Record<string, JobNeed>> = {
  createJobWorker: "work",
  defineJobQueueHandler: "work",
  defineJobRelayHandler: "relay",
  defineJobStreamHandler: "work",
  listJobs: "read",
  getJob: "read",
  countJobs: "read",
  renderJobsPage: "read",
  retryJobs: "change",
  cancelJobs: "change",
  // it returns what it has inserted
  pauseJobs: "replace",
  resumeJobs: "resume",
  signalWorkflow: "enqueue",
  cancelWorkflow: "enqueue",
  retryWorkflow: "enqueue",
};

/** Functions of `createAccountMails` that send a mail. */
const ACCOUNT_MAIL = /^(?:send|on)[A-Z]/;

const ALL: readonly DatabaseOperation[] = [Select, Insert, Update, Delete];

/** Functions of this package that use other tables of it. */
const TABLE_FUNCTIONS: Readonly<Record<string, Pick<OwnUse, "feature" | "operations">>> = {
  createTransactionStore: { feature: "idempotency", operations: { [IDEMPOTENCY_TABLE]: ALL } },
  createLeaseStore: { feature: "idempotency", operations: { [IDEMPOTENCY_TABLE]: ALL } },
  removeExpiredRecords: {
    feature: "idempotency",
    operations: { [IDEMPOTENCY_TABLE]: [Select, Delete] },
  },
  createConnectionStore: { feature: "sockets", operations: { [SUBSCRIPTION_TABLE]: ALL } },
  createConnectionTickets: {
    feature: "sockets",
    operations: { [SUBSCRIPTION_TABLE]: [Select, Insert, Delete] },
  },
  defineChangeStreamHandler: {
    feature: "change streams",
    operations: { [POSITIONS_TABLE]: ALL, [PARTS_TABLE]: ALL },
  },
};

/** Operations on the tables of workflows by their use: a member of a workflow, or a function of this package. */
const WORKFLOW_USES: Readonly<
  Record<string, Readonly<Record<string, readonly DatabaseOperation[]>>>
> = {
  start: { [WORKFLOWS_TABLE]: [Insert] },
  job: {
    [WORKFLOWS_TABLE]: ALL,
    [ENTRIES_TABLE]: ALL,
  },
  get: { [WORKFLOWS_TABLE]: [Select], [ENTRIES_TABLE]: [Select] },
  signalWorkflow: { [WORKFLOWS_TABLE]: [Select], [ENTRIES_TABLE]: [Insert] },
  cancelWorkflow: { [WORKFLOWS_TABLE]: [Select, Update] },
  retryWorkflow: { [WORKFLOWS_TABLE]: [Select, Update], [ENTRIES_TABLE]: [Select, Update] },
  getWorkflow: { [WORKFLOWS_TABLE]: [Select], [ENTRIES_TABLE]: [Select] },
  listWorkflows: { [WORKFLOWS_TABLE]: [Select] },
};

/** Members of a workflow that enqueue its turns. */
const ENQUEUING = ["start", "job"];

/** Lists the members of workflows that a function uses. */
function listWorkflowMembers(fn: LoadedFunction): { member: string; reason: string }[] {
  return fn.list("defineWorkflow").flatMap((definition) =>
    [...ENQUEUING, "get"].filter((member) => {
      const use = findUse(fn, definition, { member });
      return use === "used" || use === "handed on" && fn.syntax.memberNames.has(member);
    }).map((member) => ({ member, reason: `${member} of a workflow (${definition.place.file})` }))
  );
}

/** A worker that is started also does what a relay does. */
function listNeeds(fn: LoadedFunction, name: string): JobNeed[] {
  const isStarted = name === "createJobWorker" && fn.syntax.calledNames.has("start");
  const need = isStarted ? "relay" : JOB_FUNCTIONS[name];
  const isLimited = (need === "work" || need === "relay") &&
    fn.list("defineJob").some(({ value }) => (value as AnyJob).settings.limit !== undefined);
  return isLimited ? [need, "workLimited"] : [need];
}

/** The use of the table of jobs by a part of a function. */
export interface JobUse {
  readonly need: JobNeed;
  readonly reason: string;
}

/** Lists the uses of the table of jobs. */
export function listJobUses(fn: LoadedFunction): JobUse[] {
  const functions = fn.syntax.uses.flatMap(({ name, node }): JobUse[] =>
    Object.hasOwn(JOB_FUNCTIONS, name)
      ? listNeeds(fn, name).map((need) => ({
        need,
        reason: `${name} (${fn.getPlace(node).file})`,
      }))
      : []
  );
  const mails = new Set(
    fn.list("defineMail").map(({ value }) => (value as { job: unknown }).job),
  );
  const definitions = fn.list("defineJob", "defineMail", "createAccountMails").flatMap(
    (definition): JobUse[] => {
      // the job of a mail is used through the mail
      if (mails.has(definition.value)) return [];
      const mayUse = (member: string) => {
        const use = findUse(fn, definition, { member });
        return use === "used" || use === "handed on" && fn.syntax.memberNames.has(member);
      };
      const describe = (what: string, need: JobNeed = "enqueue"): JobUse[] => [
        { need, reason: `${what} (${definition.place.file})` },
      ];
      switch (definition.name) {
        case "defineJob": {
          const member = ["enqueue", "enqueueMany"].find(mayUse);
          const { settings } = definition.value as AnyJob;
          // `unique` changes the earlier job of a key
          const need = settings.unique === undefined
            ? settings.limit ? "enqueueLimited" : "enqueue"
            : settings.limit
            ? "replaceLimited"
            : "replace";
          return [
            ...(member === undefined ? [] : describe(`${member} of a job`, need)),
            ...(mayUse("waitFor") ? describe("waitFor of a job", "read") : []),
          ];
        }
        case "defineMail":
          return mayUse("send") ? describe("send of a mail") : [];
        default:
          return Object.keys(definition.value as object).some((member) =>
              ACCOUNT_MAIL.test(member) && mayUse(member) && fn.syntax.calledNames.has(member)
            )
            ? describe("a mail of an account")
            : [];
      }
    },
  );
  const workflows = listWorkflowMembers(fn).filter(({ member }) => ENQUEUING.includes(member))
    .map(({ reason }): JobUse => ({ need: "enqueue", reason }));
  return [...functions, ...definitions, ...workflows];
}

/** A use of a part of this package that has its own tables. */
export interface OwnUse {
  /** The part: `jobs`. */
  readonly feature: string;
  /** What it does there: a {@link JobNeed}, a member of a workflow, or a function of this package. */
  readonly use: string;
  /** `listJobs (src/functions/admin.ts)` */
  readonly reason: string;
  /** The operations that it needs, by table. */
  readonly operations: Readonly<Record<string, readonly DatabaseOperation[]>>;
}

/** Lists the uses of jobs, workflows, idempotency, subscriptions and change streams. */
export function listOwnUses(fn: LoadedFunction): OwnUse[] {
  const jobs = listJobUses(fn).map(({ need, reason }): OwnUse => ({
    feature: "jobs",
    use: need,
    reason,
    operations: { [JOBS_TABLE.name]: JOB_OPERATIONS[need] },
  }));
  const calls = fn.syntax.uses.map(({ name, node }) => ({
    member: name,
    reason: `${name} (${fn.getPlace(node).file})`,
  }));
  const others = calls.filter(({ member }) => Object.hasOwn(TABLE_FUNCTIONS, member))
    .map(({ member, reason }): OwnUse => ({ use: member, reason, ...TABLE_FUNCTIONS[member] }));
  const workflows = [
    ...listWorkflowMembers(fn),
    ...calls.filter(({ member }) =>
      /^[a-z]+Workflows?$/.test(member) && Object.hasOwn(WORKFLOW_USES, member)
    ),
  ].map(({ member, reason }): OwnUse => ({
    feature: "workflows",
    use: member,
    reason,
    operations: WORKFLOW_USES[member],
  }));
  return [...jobs, ...workflows, ...others];
}

/** Lists what a function needs of the tables of {@link listOwnUses}. */
export function readOwnTableNeeds(fn: LoadedFunction): TableNeed[] {
  return listOwnUses(fn).flatMap(({ operations: byTable, reason }) =>
    Object.entries(byTable).map(([name, operations]) => ({ table: { name }, operations, reason }))
  );
}
