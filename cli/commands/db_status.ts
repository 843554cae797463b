import { type MigrationStatus, ROLLBACK } from "../../database/migrations/plan.ts";
import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import { migrationOptions } from "../database/database_options.ts";
import { countFindings, hasErrors, printFindings } from "../database/print_findings.ts";
import { count } from "../terminal/generated_report.ts";
import type { Output } from "../terminal/output.ts";
import { printTable } from "../terminal/text_table.ts";

/** A migration with its state. */
interface MigrationLine {
  readonly tag: string;
  readonly state: "applied" | "marked" | "pending" | "drifted" | "unfinished" | "not in the folder";
  readonly detail: string;
}

const COLORS = {
  applied: "green",
  marked: "green",
  pending: "yellow",
  "not in the folder": "yellow",
  drifted: "red",
  unfinished: "red",
} as const satisfies Record<MigrationLine["state"], keyof Output>;

/** The command `trellis db status`. */
export const dbStatus: Command = {
  name: "db status",
  summary: "Lists migrations that are applied, pending or changed since.",
  description: [
    "Compares the migrations folder with the records in the database. Writes nothing. Without a\n" +
    "configured database, it is the embedded one of trellis dev.",
    "applied: was run. marked: was recorded without a run. pending: not applied. drifted: the file has\n" +
    "changed since it was applied. unfinished: a run has started and not ended; it is still active or\n" +
    "has failed, and db migrate continues it.",
    "Pending files are planned too: statements that the database does not support or that behave\n" +
    "differently are listed as in db migrate.",
  ],
  options: [
    {
      name: "check",
      description: "Also exit with 1 if a migration is pending or missing in the journal.",
    },
    {
      name: "objects",
      description: "Also compare the objects with those of the applied migrations, and print the " +
        "statements that mend them; exit with 1 if they differ.",
    },
    ...migrationOptions(),
  ],
  examples: [
    ["trellis db status", "the database in DATABASE_URL or trellis.config.ts"],
    ["trellis db status --url-env STAGING_URL --check", "in CI: fail if staging is not up to date"],
    ["trellis db status --url-env STAGING_URL --objects", "what was changed by hand"],
    [
      "trellis db status --endpoint abc123.dsql.eu-central-1.on.aws --json",
      "Aurora DSQL, as JSON",
    ],
  ],
  exitCodes: {
    [ExitCode.Done]: "No errors; with --check: nothing is pending.",
    [ExitCode.Found]: "A file has drifted, is unfinished or is not supported; with " +
      "--objects also: an object differs; with --check also: a file is pending or missing in the journal.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { options, output } = context;
  const [{ findMigrationsOrLocal }, { getMigrationStatus }, { withDatabase }, { proveOrder }] =
    await Promise.all([
      import("../database/migration_target.ts"),
      import("../../database/migrations/status.ts"),
      import("../database/reaching.ts"),
      import("../database/migration_order.ts"),
    ]);
  const { target, label, folder, release } = await findMigrationsOrLocal(context);
  const database = { config: target.database, label };
  const { status, drift } = await withDatabase(database, async () => ({
    status: await proveOrder(target, await getMigrationStatus(target)),
    drift: options.objects === true
      ? await (await import("../database/drift.ts")).findDrift(target)
      : undefined,
  })).finally(release);
  const lines = toLines(status);
  const isWrong = status.changed.length > 0 || (status.unfinished ?? []).length > 0 ||
    hasErrors(status.findings) || (drift?.differences ?? []).length > 0;
  const isBehind = options.check === true &&
    (status.pending.length > 0 || status.unlisted.length > 0);
  const exitCode = isWrong || isBehind ? ExitCode.Found : ExitCode.Done;

  printFindings(output, status.findings, folder);
  const rows = lines.map(({ tag, state, detail }) => [tag, state, detail]);
  printTable(
    output,
    ["migration", "state", ""],
    rows,
    (cell, row, column) => column === 1 ? output[COLORS[lines[row].state]](cell) : cell,
  );
  for (const difference of drift?.differences ?? []) output.error(difference);
  for (const statement of drift?.statements ?? []) output.line(`${statement};`);
  for (const problem of drift?.problems ?? []) output.note(problem);
  const found = status.findings.length === 0 ? "" : ` (${countFindings(status.findings)})`;
  output.line(`${output.bold(label)}: ${summarize(lines)}${found}`);
  return {
    exitCode,
    database: label,
    migrations: lines.map(({ tag, state }) => ({
      tag,
      state,
      appliedAt: status.applied.find((row) => row.tag === tag)?.appliedAt.toISOString() ?? null,
      statementsDone: status.unfinished?.find((one) => one.tag === tag)?.statementsDone ?? null,
    })),
    unlisted: status.unlisted,
    findings: status.findings,
    warnings: status.warnings,
    ...drift !== undefined && { drift },
  };
}

function toLines(status: MigrationStatus): MigrationLine[] {
  const when = (date: Date) => `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
  const unfinished = new Map((status.unfinished ?? []).map((one) => [one.tag, one]));
  const applied = status.applied.map(({ tag, executed, appliedAt }): MigrationLine => {
    if (status.changed.includes(tag)) {
      return {
        tag,
        state: "drifted",
        detail: `applied ${when(appliedAt)}; the file has changed since`,
      };
    }
    if (status.unknown.includes(tag)) {
      return { tag, state: "not in the folder", detail: `applied ${when(appliedAt)}` };
    }
    return { tag, state: executed ? "applied" : "marked", detail: when(appliedAt) };
  });
  const pending = status.pending.map((tag): MigrationLine => {
    const begun = unfinished.get(tag);
    if (begun === undefined) return { tag, state: "pending", detail: "" };
    const { statementsDone, notedAt } = begun;
    return {
      tag,
      state: "unfinished",
      detail: `${count(statementsDone, "statement")} done, the last one at ${when(notedAt)}`,
    };
  });
  const others = [...unfinished.values()].filter(({ tag }) => !status.pending.includes(tag))
    .map(({ tag, statementsDone }): MigrationLine => ({
      tag,
      state: "unfinished",
      detail: `${count(statementsDone, "statement")} done; ` +
        (tag.startsWith(ROLLBACK) ? "run db rollback again" : "its file is not in the folder"),
    }));
  return [...applied, ...pending, ...others];
}

function summarize(lines: readonly MigrationLine[]): string {
  if (lines.length === 0) return "no migrations";
  const counts = new Map<string, number>();
  for (const { state } of lines) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state}`).join(", ");
}
