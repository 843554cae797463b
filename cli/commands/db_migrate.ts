import type { MigrationStatus } from "../../database/migrations/plan.ts";
import type { DryRunMigration, MigrateResult } from "../../database/migrations/run.ts";
import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
  UsageError,
} from "../terminal/command.ts";
import { migrationOptions } from "../database/database_options.ts";
import { confirmRemote, YES_OPTION } from "../database/confirm_remote.ts";
import { countFindings, hasErrors, printFindings } from "../database/print_findings.ts";
import { SARIF_OPTION, writeSarif } from "../database/sarif.ts";
import { count } from "../terminal/generated_report.ts";
import type { Output } from "../terminal/output.ts";

/** The command `trellis db migrate`. */
export const dbMigrate: Command = {
  name: "db migrate",
  summary: "Applies pending migrations.",
  description: [
    "Prints the plan and applies it in order. On PostgreSQL each file runs in one transaction, and\n" +
    "statements that would stop the traffic on a filled table run in an online form. On\n" +
    "Aurora DSQL each statement is translated, executed and recorded separately; an interrupted run\n" +
    "continues at the statement where it stopped.",
    "Asks for confirmation before it changes a remote database, with its host, name and role; --yes\n" +
    "confirms in advance.",
    "All pending files are planned before the first statement runs. Statements that the database\n" +
    "does not support or that behave differently are listed by file, line and column. An unsupported\n" +
    "statement, or an applied file that has changed, stops the run before anything is executed.\n" +
    "Concurrent runs wait for each other.",
  ],
  options: [
    { name: "dry-run", description: "Print the statements and write nothing." },
    {
      name: "check",
      description: "Write nothing; exit with 1 if a migration is pending, a " +
        "file has drifted or is missing in the journal.",
    },
    {
      name: "lock-timeout",
      value: "seconds",
      description: "How long to wait for another run. Default: 600.",
    },
    {
      name: "table-lock-timeout",
      value: "milliseconds",
      description:
        "How long a statement waits for the lock of a table before it is tried again. Default: 2000.",
    },
    {
      name: "backfill-batch",
      value: "milliseconds",
      description: "How long a transaction of a backfill should take. Default: 200.",
    },
    {
      name: "max-replication-lag",
      value: "milliseconds",
      description: "How far behind a replica may be before a backfill waits. Default: 5000.",
    },
    {
      name: "backfill-max-wait",
      value: "seconds",
      description:
        "How long a backfill waits before the run stops; the next one continues. Default: 600.",
    },
    {
      name: "retain",
      value: "time",
      description:
        "Keep dropped values for db rollback, under another name, for a time such as 7d " +
        "or 12h. Also drops what was kept for longer.",
    },
    SARIF_OPTION,
    YES_OPTION,
    ...migrationOptions(),
  ],
  examples: [
    ["trellis db migrate", "the database in DATABASE_URL or trellis.config.ts"],
    [
      "trellis db migrate --endpoint abc123.dsql.eu-central-1.on.aws --dry-run",
      "print the statements for Aurora DSQL",
    ],
    ["trellis db migrate --url-env STAGING_URL --yes", "in a deployment"],
    [
      "trellis db migrate --url-env STAGING_URL --check",
      "in CI: fail if staging is not up to date",
    ],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done; with --check: nothing is pending.",
    [ExitCode.Found]:
      "A file has drifted or is not supported, and nothing was run; with --check also: a file is " +
      "pending or missing in the journal.",
    [ExitCode.Failed]: "It could not run, or a statement failed: the message names it.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { options, output } = context;
  const limits = {
    lockTimeoutSeconds: readPositive(options, "lock-timeout", "seconds"),
    lockTimeoutMs: readPositive(options, "table-lock-timeout", "milliseconds"),
    backfillBatchMs: readPositive(options, "backfill-batch", "milliseconds"),
    maxReplicationLagMs: readPositive(options, "max-replication-lag", "milliseconds"),
    backfillMaxWaitSeconds: readPositive(options, "backfill-max-wait", "seconds"),
  };
  const retainMs = readRetention(options.retain);
  const [
    { findMigrations },
    { readMigrationFolder },
    { getMigrationStatus },
    { runMigrationFolder },
    { withDatabase },
    { proveOrder },
    retention,
  ] = await Promise.all([
    import("../database/migration_target.ts"),
    import("../../database/migrations/folder.ts"),
    import("../../database/migrations/status.ts"),
    import("../../database/migrations/run.ts"),
    import("../database/reaching.ts"),
    import("../database/migration_order.ts"),
    retainMs === undefined ? undefined : import("../database/rollback.ts"),
  ]);
  const { target, label, folder } = await findMigrations(context);
  const database = { config: target.database, label };
  return await withDatabase(database, async () => {
    const status = await proveOrder(target, await getMigrationStatus(target));
    printFindings(output, status.findings, folder);
    writeSarif(context, status.findings, folder);
    if (status.changed.length > 0) return reportDrift(output, label, status);
    const { folder: files, kept = [], problems = [] } = await retention?.keepInFolder(target) ??
      { folder: readMigrationFolder(target.migrationsFolder) };
    const { plan = [] } = status.pending.length === 0
      ? {}
      : await runMigrationFolder({ ...target, dryRun: true }, () => files);
    for (const problem of problems) output.error(problem);
    logPlan(output, plan, options["dry-run"] === true);
    const isRejected = hasErrors(status.findings) || problems.length > 0;
    const expired = await retention?.planExpiry(target, retainMs!, Date.now());
    const mayWrite = options.check !== true && options["dry-run"] !== true && !isRejected;
    let result: MigrateResult | undefined;
    if (mayWrite && plan.length > 0) {
      await confirmRemote(context, `Run ${count(plan.length, "migration")}`, {
        Target: database,
      });
      const logger = (message: string) => logProgress(output, message);
      result = await runMigrationFolder({ ...target, ...limits, logger }, () => files);
      output.endProgress();
    }
    if (mayWrite && expired !== undefined) {
      await confirmRemote(context, `Drop ${count(expired.names.length, "kept object")}`, {
        Target: database,
      });
      await runMigrationFolder({ ...target, ...limits }, () => expired.folder);
      for (const name of expired.names) output.line(`${output.yellow("expired")} ${name}`);
    }
    if (!mayWrite) {
      for (const name of expired?.names ?? []) output.line(`${output.yellow("expires")} ${name}`);
    } else {
      for (const { label, name } of kept) output.line(`${output.yellow("kept")} ${label}: ${name}`);
    }
    const isBehind = options.check === true && (plan.length > 0 || status.unlisted.length > 0);
    const exitCode = isRejected || isBehind ? ExitCode.Found : ExitCode.Done;
    const found = status.findings.length === 0 ? "" : ` (${countFindings(status.findings)})`;
    const summary = `${output.bold(label)}: ${summarize(output, plan, result, mayWrite)}${found}`;
    output.line(summary);
    return {
      exitCode,
      summary,
      database: label,
      plan,
      applied: result?.migrations ?? [],
      appliedElsewhere: result?.appliedElsewhere ?? [],
      drifted: [],
      kept,
      problems,
      expired: expired?.names ?? [],
      unlisted: status.unlisted,
      findings: status.findings,
      warnings: status.warnings,
    };
  });
}

function readPositive(
  options: CommandContext["options"],
  name: string,
  unit: string,
): number | undefined {
  const text = options[name];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (value > 0 && value < 1e6) return value;
  throw new UsageError(
    `--${name} must be a number of ${unit} above 0, got ${JSON.stringify(text)}`,
  );
}

const HOUR_MS = 3_600_000;

/** Reads a time such as `7d` or `12h`, in milliseconds. */
function readRetention(text: string | boolean | undefined): number | undefined {
  if (text === undefined) return undefined;
  const [, number, unit] = /^(\d{1,4})([dh])$/.exec(String(text)) ?? [];
  if (number !== undefined) return Number(number) * HOUR_MS * (unit === "d" ? 24 : 1);
  throw new UsageError(
    `--retain must be a number of days or hours, such as 7d or 12h, got ${JSON.stringify(text)}`,
  );
}

function reportDrift(output: Output, label: string, status: MigrationStatus): CommandResult {
  const { changed, pending, unlisted, findings, warnings } = status;
  for (const tag of changed) {
    output.line(`${output.red("drifted")} ${tag}.sql has changed since it was applied`);
  }
  output.line(
    `${output.bold(label)}: nothing was run. Restore ${
      changed.length === 1 ? "the file" : "the files"
    } from version control, ` +
      "and add a new migration with the change",
  );
  return {
    exitCode: ExitCode.Found,
    database: label,
    plan: pending.map((tag) => ({ tag })),
    applied: [],
    appliedElsewhere: [],
    drifted: changed,
    unlisted,
    findings,
    warnings,
  };
}

function logPlan(output: Output, plan: readonly DryRunMigration[], isFull: boolean): void {
  for (const { tag, statements, atomic } of plan) {
    const size = count(statements.length, "statement");
    output.line(
      `${output.yellow("pending")} ${tag}: ${size}${atomic ? " in one transaction" : ""}`,
    );
    if (isFull) {
      for (const statement of statements) {
        output.line(`${statement.replace(/^/gm, "    ").trimEnd()};`);
      }
    }
  }
}

/** Logs a message of the runner: statements and rows as progress, other messages as lines. */
export function logProgress(output: Output, message: string): void {
  const at = message.indexOf(": statement ");
  const rows = /^(.*): (\d+) of about (\d+) rows$/.exec(message);
  const statement = at < 0 ? null : /^: statement (\d+) of (\d+): (.*)$/.exec(message.slice(at));
  if (statement !== null) {
    const [, done, total, title] = statement;
    output.progress(`${message.slice(0, at)} ${title}`, Number(done), Number(total));
  } else if (rows !== null) output.progress(`${rows[1]} rows`, Number(rows[2]), Number(rows[3]));
  else if (!/^(?:warning|error): /.test(message)) output.note(message);
}

function summarize(
  output: Output,
  plan: readonly DryRunMigration[],
  result: MigrateResult | undefined,
  mayWrite: boolean,
): string {
  if (plan.length === 0) return output.green("up to date");
  if (!mayWrite) return `${plan.length} pending, nothing was run`;
  const elsewhere = result?.appliedElsewhere.length ?? 0;
  return output.green(`${result?.applied ?? 0} applied`) +
    (elsewhere > 0 ? `, ${elsewhere} by another run` : "");
}
