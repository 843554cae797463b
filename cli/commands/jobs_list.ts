import type { Command, CommandContext, CommandResult } from "../terminal/command.ts";
import { ExitCode, UsageError } from "../terminal/command.ts";
import type { JobState } from "../../jobs/job_admin.ts";
import { databaseOptions } from "../database/database_options.ts";
import { renderTable } from "../database/text_table.ts";
import { withJobsDatabase } from "../database/with_jobs.ts";
import { count } from "../terminal/generated_report.ts";

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
      values: ["queued", "running", "done", "dead", "cancelled"] satisfies JobState[],
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
  exitCodes: {
    [ExitCode.Done]: "The jobs are listed.",
    [ExitCode.Failed]: "The database or the table is missing, or the database does not respond.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { options, output } = context;
  const { listJobs } = await import("../../jobs/job_admin.ts");
  const state = options.state as JobState | undefined;
  const limit = readLimit(options.limit as string | undefined);
  const name = options.job as string | undefined;
  const { jobs, label } = await withJobsDatabase(context, async ({ db, label }) => ({
    jobs: await listJobs(db, { state, name, limit }),
    label,
  }));
  const rows = jobs.map((job) => [
    job.id,
    job.name,
    job.state,
    String(job.attempts),
    job.enqueuedAt.slice(0, 19).replace("T", " "),
    (job.lastError ?? "").split("\n")[0],
  ]);
  const header = ["id", "job", "state", "attempts", "enqueued (UTC)", "last error"];
  if (rows.length > 0) { for (const line of renderTable([header, ...rows])) output.line(line); }
  output.line(`${output.bold(label)}: ${count(jobs.length, "job")}`);
  return { exitCode: ExitCode.Done, database: label, jobs };
}

const MAX_LIMIT = 1000;

function readLimit(text = "50"): number {
  const limit = Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new UsageError(`--limit must be a number from 1 to ${MAX_LIMIT}, got "${text}"`);
}
