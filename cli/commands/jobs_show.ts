import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import { databaseOptions } from "../database/database_options.ts";
import { checkJobId, withJobsDatabase } from "../database/with_jobs.ts";

/** The command `trellis jobs show`. */
export const jobsShow: Command = {
  name: "jobs show",
  summary: "Prints one background job with its payload and its last error.",
  description: ["The payload may contain personal data."],
  args: [{ name: "id", description: "The job's id, as trellis jobs list prints it." }],
  options: databaseOptions(),
  examples: [["trellis jobs show 4f0c5a52-8d3e-4a63-9a43-0f3f6b6f9f0e", "one job"]],
  exitCodes: {
    [ExitCode.Done]: "The job is printed.",
    [ExitCode.Found]: "The table has no job with this id.",
    [ExitCode.Failed]: "The database or the table is missing, or the database does not respond.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { args, output } = context;
  const { getJob } = await import("../../jobs/job_admin.ts");
  const id = checkJobId(args[0]);
  const { job, label } = await withJobsDatabase(context, async ({ db, label }) => ({
    job: await getJob(db, id),
    label,
  }));
  const exitCode = job === undefined ? ExitCode.Found : ExitCode.Done;
  if (job === undefined) output.line(`${output.bold(label)}: no job has the id ${id}`);
  for (const [key, value] of Object.entries(job ?? {})) {
    if (value !== undefined) output.line(`${key}: ${value}`);
  }
  return { exitCode, database: label, job: job ?? null };
}
