import process from "node:process";
import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
  UsageError,
} from "../terminal/command.ts";
import type { JobState } from "../../jobs/job_admin.ts";
import { databaseOptions } from "../database/database_options.ts";
import { printTable } from "../terminal/text_table.ts";
import { count } from "../terminal/generated_report.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import { DatabaseError } from "../../errors/database_errors.ts";
import { explainTable } from "../../jobs/job_sql.ts";
import { setLogOutput } from "../../observability/output.ts";
import { readProjectConfig } from "../config/read_project.ts";
import { findDatabaseOrLocal } from "../database/local_database_target.ts";

/**
 * Shortens a time for tables.
 *
 * @param time ISO 8601, in UTC.
 * @returns `2026-11-29 01:04:28`
 */
export function toSeconds(time: string): string {
  return time.slice(0, 19).replace("T", " ");
}

/** The command `trellis jobs list`. */
export const jobsList: Command = {
  name: "jobs list",
  summary: "Lists background jobs with their states and errors.",
  description: [
    "Reads the table trellis_jobs, the last enqueued jobs first. Payloads are not printed: see\n" +
    "trellis jobs show.",
  ],
  options: [
    {
      name: "state",
      value: "state",
      values: ["queued", "running", "done", "dead", "cancelled", "paused"] satisfies JobState[],
      description: "Only jobs that are queued, running, done, dead or cancelled.",
    },
    { name: "job", value: "name", description: "Only jobs with this name." },
    { name: "limit", value: "number", description: "Maximum number of jobs. Default: 50." },
    ...databaseOptions(),
  ],
  examples: [
    ["trellis jobs list --state dead", "the jobs that failed for the last time"],
    ["trellis jobs list --job send-mail --limit 500 --json", "as JSON"],
  ],
  run: list,
};

async function list(context: CommandContext): Promise<CommandResult> {
  const { options, output } = context;
  const { describeState, listJobs } = await import("../../jobs/job_admin.ts");
  const state = options.state as JobState | undefined;
  const limit = readLimit(options.limit as string | undefined);
  const name = options.job as string | undefined;
  const [label, jobs] = await withJobsDatabase(
    context,
    (db) => listJobs(db, { state, name, limit }),
  );
  const rows = jobs.map((job) => [
    job.id,
    job.name,
    describeState(job),
    String(job.attempts),
    toSeconds(job.enqueuedAt),
    (job.lastError ?? "").split("\n")[0],
  ]);
  const header = ["id", "job", "state", "attempts", "enqueued (UTC)", "last error"];
  printTable(output, header, rows);
  output.line(`${output.bold(label)}: ${count(jobs.length, "job")}`);
  return { exitCode: ExitCode.Done, database: label, jobs };
}

/** The command `trellis jobs stats`. */
export const jobsStats: Command = {
  name: "jobs stats",
  summary: "Counts background jobs by name and state, with their waiting times.",
  description: [
    "Reads the whole table trellis_jobs. A job is due when it may run and no worker has begun it, or when\n" +
    "its worker has died. The last column counts the due jobs that wait because their limit has been reached.",
  ],
  options: databaseOptions(),
  examples: [["trellis jobs stats --json", "the counts as JSON"]],
  run: stats,
};

async function stats(context: CommandContext): Promise<CommandResult> {
  const { output } = context;
  const { countJobs } = await import("../../jobs/job_admin.ts");
  const [label, counts] = await withJobsDatabase(context, countJobs);
  const rows = counts.map(({ name, state, jobs, due, oldestDueSeconds, waitForLimit }) => [
    name,
    state,
    String(jobs),
    String(due),
    due === 0 ? "" : `${oldestDueSeconds} s`,
    waitForLimit === 0 ? "" : String(waitForLimit),
  ]);
  printTable(output, ["job", "state", "jobs", "due", "waiting since", "waits for its limit"], rows);
  const total = counts.reduce((sum, { state, jobs }) => state === "paused" ? sum : sum + jobs, 0);
  output.line(`${output.bold(label)}: ${count(total, "job")}`);
  return { exitCode: ExitCode.Done, database: label, jobs: counts };
}

const MAX_LIMIT = 1000;

/**
 * Reads the option `--limit`.
 *
 * @param text The option.
 * @throws {UsageError} If it is not a number from 1 to 1,000.
 */
export function readLimit(text = "50"): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new UsageError(`--limit must be a number from 1 to ${MAX_LIMIT}, got "${text}"`);
}

/** The command `trellis jobs show`. */
export const jobsShow: Command = {
  name: "jobs show",
  summary: "Prints a background job with payload and last error.",
  description: ["The payload may contain personal data."],
  args: [{ name: "id", description: "The job's id." }],
  options: databaseOptions(),
  examples: [["trellis jobs show 4f0c5a52-8d3e-4a63-9a43-0f3f6b6f9f0e", "one job"]],
  exitCodes: { [ExitCode.Found]: "The table has no job with this id." },
  run: show,
};

async function show(context: CommandContext): Promise<CommandResult> {
  const { args, output } = context;
  const { getJob } = await import("../../jobs/job_admin.ts");
  const id = checkJobId(args[0]);
  const [label, job] = await withJobsDatabase(context, (db) => getJob(db, id));
  const exitCode = job === undefined ? ExitCode.Found : ExitCode.Done;
  if (job === undefined) output.line(`${output.bold(label)}: no job has the id ${id}`);
  for (const [key, value] of Object.entries(job ?? {})) {
    if (value !== undefined) output.line(`${key}: ${value}`);
  }
  return { exitCode, database: label, job: job ?? null };
}

type Change = "retry" | "cancel";

const EXIT_CODES: Command["exitCodes"] = {
  [ExitCode.Done]: "All named jobs were changed.",
  [ExitCode.Found]: "A named job does not exist or is in another state; it was not changed.",
};

const ARGUMENT = {
  name: "id",
  description: "The job's id, unless --dead is set.",
  isOptional: true,
} as const;

const OPTIONS: Command["options"] = [
  { name: "dead", description: "All dead jobs; with --job: those with this name." },
  { name: "job", value: "name", description: "With --dead: only jobs with this name." },
  ...databaseOptions(),
];

/** The command `trellis jobs retry`. */
export const jobsRetry: Command = {
  name: "jobs retry",
  summary: "Sends dead or cancelled background jobs again.",
  description: [
    "Also a running job whose lease has ended: its worker has died, or no worker knows it. " +
    "A job gets as many attempts as a new one. It runs when " +
    "a worker or the relay looks at the table.",
  ],
  args: [ARGUMENT],
  options: OPTIONS,
  examples: [
    ["trellis jobs retry 4f0c5a52-8d3e-4a63-9a43-0f3f6b6f9f0e", "one job"],
    ["trellis jobs retry --dead --job send-mail", "all dead jobs of one kind"],
  ],
  exitCodes: EXIT_CODES,
  run: (context) => change("retry", context),
};

/** The command `trellis jobs cancel`. */
export const jobsCancel: Command = {
  name: "jobs cancel",
  summary: "Cancels background jobs that are queued or dead.",
  description: [
    "Also a running job whose lease has ended. A job that runs is stopped with --running: the signal of its " +
    "handler is aborted within about 5 seconds, and what it has done stays. A job with transaction: true " +
    "that runs is not stopped. Cancelled jobs are kept for a day.",
  ],
  args: [ARGUMENT],
  options: [{ name: "running", description: "Also a job that runs." }, ...OPTIONS],
  examples: [
    ["trellis jobs cancel 4f0c5a52-8d3e-4a63-9a43-0f3f6b6f9f0e", "one job"],
    ["trellis jobs cancel --dead --job send-mail", "all dead jobs of one kind"],
  ],
  exitCodes: EXIT_CODES,
  run: (context) => change("cancel", context),
};

const WORDS: Readonly<Record<Change, { readonly done: string; readonly states: string }>> = {
  retry: { done: "sent again", states: "dead and cancelled" },
  cancel: { done: "cancelled", states: "queued and dead" },
};

async function change(what: Change, context: CommandContext): Promise<CommandResult> {
  const { args: [given], options, output } = context;
  if ((given === undefined) === (options.dead !== true)) {
    throw new UsageError(`trellis jobs ${what} needs either the id of a job or --dead`);
  }
  const admin = await import("../../jobs/job_admin.ts");
  const id = given === undefined ? undefined : checkJobId(given);
  const running = options.running === true;
  const apply = (db: DrizzleClient, ids: readonly string[]) =>
    what === "retry" ? admin.retryJobs(db, ids) : admin.cancelJobs(db, ids, { running });
  const [label, { unchanged, changed }] = await withJobsDatabase(context, async (db) => {
    const name = options.job as string | undefined;
    const changed: string[] = [];
    let ids = id === undefined ? [] : [id];
    // dead jobs are changed in batches until none is left
    for (;;) {
      if (id === undefined) {
        const dead = await admin.listJobs(db, { state: "dead", name, limit: 1000 });
        // a job that failed again in the meantime is not sent a second time
        ids = dead.map((job) => job.id).filter((each) => !changed.includes(each));
      }
      const batch = await apply(db, ids);
      changed.push(...batch);
      if (id === undefined && batch.length > 0) continue;
      const isUnchanged = id !== undefined && batch.length === 0;
      const unchanged = isUnchanged
        ? describeUnchanged(what, await admin.getJob(db, id))
        : undefined;
      return { unchanged, changed };
    }
  });
  const exitCode = unchanged === undefined ? ExitCode.Done : ExitCode.Found;
  const result = unchanged ?? `${count(changed.length, "job")} ${WORDS[what].done}`;
  output.line(`${output.bold(label)}: ${result}`);
  return { exitCode, database: label, changed };
}

/** Says why a job was not changed. */
function describeUnchanged(what: Change, job: { readonly state: string } | undefined): string {
  const { done, states } = WORDS[what];
  if (job === undefined) return "no job has this id";
  const lease = job.state === "running" ? ", or a running one whose lease has ended" : "";
  const stop = lease !== "" && what === "cancel" ? ": --running stops it" : "";
  return `the job is ${job.state}, and only ${states} jobs can be ${done}${lease}${stop}`;
}

const NAME_ARGUMENT = { name: "job", description: "The name of the jobs." } as const;

/** The command `trellis jobs pause`. */
export const jobsPause: Command = {
  name: "jobs pause",
  summary: "Lets no background job of a name begin.",
  description: [
    "Jobs that run end, and jobs can still be enqueued. The name of the jobs of a workflow is workflow.<name>.\n" +
    "trellis jobs list --state paused lists the names that are paused.",
  ],
  args: [NAME_ARGUMENT],
  options: databaseOptions(),
  examples: [["trellis jobs pause send-mail", "all jobs of one kind"]],
  exitCodes: { [ExitCode.Found]: "They were paused already." },
  run: (context) => hold("pause", context),
};

/** The command `trellis jobs resume`. */
export const jobsResume: Command = {
  name: "jobs resume",
  summary: "Lets the background jobs of a name begin again.",
  description: ["Jobs that a queue has delivered meanwhile begin with the next run of the relay."],
  args: [NAME_ARGUMENT],
  options: databaseOptions(),
  examples: [["trellis jobs resume send-mail", "all jobs of one kind"]],
  exitCodes: { [ExitCode.Found]: "They were not paused." },
  run: (context) => hold("resume", context),
};

async function hold(what: "pause" | "resume", context: CommandContext): Promise<CommandResult> {
  const { args: [name], output } = context;
  const { pauseJobs, resumeJobs } = await import("../../jobs/job_admin.ts");
  const [label, isChanged] = await withJobsDatabase(
    context,
    (db) => what === "pause" ? pauseJobs(db, name) : resumeJobs(db, name),
  );
  const unchanged = what === "pause" ? "were paused already" : "were not paused";
  const result = isChanged ? `are ${what}d` : unchanged;
  output.line(`${output.bold(label)}: the jobs ${name} ${result}`);
  const exitCode = isChanged ? ExitCode.Done : ExitCode.Found;
  return { exitCode, database: label, isChanged };
}

/**
 * Runs work on the database with the table of jobs, and closes it.
 *
 * @param context The command.
 * @param work The work.
 * @param feature What has the table, for the error if it does not exist.
 * @returns The printable name of the database, and the result of the work.
 */
export async function withJobsDatabase<T>(
  context: CommandContext,
  work: (db: DrizzleClient) => Promise<T>,
  feature: "jobs" | "workflows" = "jobs",
): Promise<[label: string, result: T]> {
  const { options, root } = context;
  const [{ withDatabase }, { getDrizzleClient }] = await Promise.all([
    import("../database/reaching.ts"),
    import("../../database/providers/client.ts"),
  ]);
  const { database: settings } = await readProjectConfig(context);
  const { target, release } = findDatabaseOrLocal(
    { options, settings, env: process.env, root },
    `Use the tab ${feature === "jobs" ? "Jobs" : "Workflows"} of its page, or stop it first`,
  );
  const { config, label } = target;
  // a command prints its result only: its metrics belong to no service, and what fails is thrown
  const restoreLogs = setLogOutput(() => {});
  try {
    const result = await withDatabase(target, async () => {
      const db = await getDrizzleClient(config);
      return await work(db).catch((error) => throwJobsError(error, label, feature));
    });
    return [label, result];
  } finally {
    restoreLogs();
    release();
  }
}

/** Throws an error that says which migration is missing, if the table of jobs or workflows is not as this release needs it. */
function throwJobsError(error: unknown, label: string, feature: "jobs" | "workflows"): never {
  const explained = explainTable(error, feature);
  if (explained === error) throw error;
  throw new DatabaseError(`${label}: ${(explained as Error).message}`, { cause: error });
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * Checks an id from the command line.
 *
 * @param id The argument.
 * @param what What it is the id of.
 * @throws {UsageError} If it is not the id of a job or workflow.
 */
export function checkJobId(id: string, what: "job" | "workflow" = "job"): string {
  if (UUID.test(id)) return id.toLowerCase();
  throw new UsageError(`"${id}" is not the id of a ${what}: trellis ${what}s list prints the ids`);
}
