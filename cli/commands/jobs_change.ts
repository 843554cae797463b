import type { Command, CommandContext, CommandResult } from "../terminal/command.ts";
import { ExitCode, UsageError } from "../terminal/command.ts";
import { databaseOptions } from "../database/database_options.ts";
import { checkJobId, withJobsDatabase } from "../database/with_jobs.ts";
import { count } from "../terminal/generated_report.ts";

type Change = "retry" | "cancel";

const EXIT_CODES: Command["exitCodes"] = {
  [ExitCode.Done]: "All named jobs were changed.",
  [ExitCode.Found]: "A named job does not exist or is in another state; it was not changed.",
  [ExitCode.Failed]: "The database or the table is missing, or the database does not respond.",
};

const ARGUMENT = {
  name: "id",
  description: "The job's id, as trellis jobs list prints it; or use --dead.",
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
  description: ["A job that runs is not stopped. Cancelled jobs are kept for a day."],
  args: [ARGUMENT],
  options: OPTIONS,
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
  const apply = what === "retry" ? admin.retryJobs : admin.cancelJobs;
  const { unchanged, changed, label } = await withJobsDatabase(context, async ({ db, label }) => {
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
      return { unchanged, changed, label };
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
  return job === undefined
    ? "no job has this id"
    : `the job is ${job.state}, and only ${states} jobs can be ${done}`;
}
