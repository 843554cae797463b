import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { ConfigurationError } from "../../errors/http_errors.ts";
import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
  UsageError,
} from "../terminal/command.ts";
import { count } from "../terminal/generated_report.ts";
import type { ReleaseCheck } from "../releases/check_release.ts";
import type { ReleaseManifest } from "../releases/release_manifest.ts";

/** The command `trellis check compat`. */
export const checkCompat: Command = {
  name: "check compat",
  summary: "Checks that pending migrations do not break the running release.",
  description: [
    "During a deployment the old release works with the new schema. This command replays the migrations\n" +
    "that the release does not know on an embedded database, statement by statement, and prepares every\n" +
    "statement of the release after each, under the role of its function. It names each statement that\n" +
    "breaks, by which migration, and the safe order: expand, deploy, backfill, contract.",
    "The release is a file that trellis build wrote (dist/release.json), or a stage, whose deployments\n" +
    "record it. Checked are the statements of defineStatement, those of defineQuery that tests have run since\n" +
    "the sources changed, and the package's own (sessions, API keys, limits, jobs, workflows, idempotency,\n" +
    "change streams, WebSocket connections): their names, types, parameters, required columns and grants.\n" +
    "Of other queries and of better-auth's routes the granted tables and columns are checked; the rest is\n" +
    "listed. trellis deploy runs this check before it changes anything.",
  ],
  options: [
    {
      name: "against",
      value: "release",
      description: "A stage, or a manifest: prod, old/release.json.",
    },
    {
      name: "migrations",
      value: "folder",
      description: "The migrations folder. Default: database.migrationsDir.",
    },
  ],
  examples: [
    ["trellis check compat --against prod", "before a deployment"],
    [
      "trellis check compat --against old/release.json --json",
      "with the manifest of an older build",
    ],
  ],
  exitCodes: {
    [ExitCode.Done]: "The release works at every schema on the way.",
    [ExitCode.Found]: "A statement of the release breaks.",
    [ExitCode.Failed]:
      "It could not run: there is no such release, or a migration does not run on the embedded database.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { options, output } = context;
  const { against } = options;
  if (typeof against !== "string" || against === "") {
    throw new UsageError("--against is missing: name a stage, or a file that trellis build wrote");
  }
  const [{ findMigrationsFolder }, { checkRelease, describeBreak }] = await Promise.all([
    import("../database/migration_target.ts"),
    import("../releases/check_release.ts"),
  ]);
  const { migrationsFolder } = await findMigrationsFolder(context);
  const releases = await readReleases(context, against);
  const checks: ReleaseCheck[] = [];
  for (const release of releases) checks.push(await checkRelease(release, migrationsFolder));
  const breaks = checks.flatMap((check) => check.breaks);
  const unchecked = [...new Set(checks.flatMap((check) => check.unchecked))];
  for (const found of breaks) output.line(describeBreak(found));
  for (const one of unchecked) output.note(`unchecked ${one}`);
  const pending = [...new Set(checks.flatMap((check) => check.pending))];
  const checked = checks.reduce((sum, check) => sum + check.checked, 0);
  const summary = `${count(checked, "statement")} of ${against} at ${
    count(pending.length, "migration")
  }: ${
    breaks.length === 0 ? "none breaks" : `${breaks.length} break`
  }, ${unchecked.length} unchecked`;
  output.line(breaks.length === 0 ? output.green(summary) : output.red(summary));
  const exitCode = breaks.length === 0 ? ExitCode.Done : ExitCode.Found;
  return { exitCode, summary, against, pending, checked, breaks, unchecked };
}

/** Reads the releases of a file or a stage; several while a deployment is not finished. */
async function readReleases(
  { cwd, root, options }: CommandContext,
  against: string,
): Promise<readonly ReleaseManifest[]> {
  const { parseManifest } = await import("../releases/release_manifest.ts");
  const path = resolve(cwd, against);
  if (existsSync(path)) return [parseManifest(readFileSync(path, "utf8"), against)];
  if (/[./\\]/.test(against)) throw new ConfigurationError(`${against} does not exist`);
  const [
    { openReleaseRecord },
    { resolveStage },
    { readProjectName },
    { readConfig },
  ] = await Promise.all([
    import("../releases/release_record.ts"),
    import("../stages/stage_settings.ts"),
    import("../infra/project_name.ts"),
    import("../config/read_config.ts"),
  ]);
  const { infra } = await readConfig(root, options.config as string | undefined);
  const projectName = infra.projectName ?? readProjectName(root);
  const stage = resolveStage(infra, projectName, against);
  const record = openReleaseRecord(infra.state, resolve(root, infra.dir), stage);
  const { running: releases } = await record.read();
  if (releases.length > 0) return releases;
  throw new ConfigurationError(
    `No release of ${against} is recorded: trellis deploy records it. Name the file of an older build instead`,
  );
}
