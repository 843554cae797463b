import process from "node:process";
import type { DatabaseSettings } from "../../database/config/config.ts";
import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
  UsageError,
} from "../terminal/command.ts";
import type { CloneOptions } from "../config/clone.ts";
import type { CloneOutcome } from "../database/clone/run_clone.ts";
import { confirmRemote, YES_OPTION } from "../database/confirm_remote.ts";
import { databaseOptions } from "../database/database_options.ts";
import { requireDatabase } from "../database/database_target.ts";
import { readNumeric } from "../database/numeric_option.ts";
import { count } from "../terminal/generated_report.ts";
import { printTable } from "../terminal/text_table.ts";
import type { Output } from "../terminal/output.ts";
import { readProjectConfig } from "../config/read_project.ts";
import { chmodSync, existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** The command `trellis db clone`. */
export const dbClone: Command = {
  name: "db clone",
  summary: "Copies schema and rows to an empty database of any provider.",
  description: [
    "The source is the project's database (DATABASE_URL and so on), or the one in --from-… options.\n" +
    "The target is set with --to-… options or TARGET_DATABASE_… variables. The source is only read;\n" +
    "existing data in the target is never overwritten.",
    "Copies tables, rows, constraints, indexes, sequences, enums, domains, views and comments, and\n" +
    "translates them for Aurora DSQL. Functions, triggers, policies, materialized views, roles and\n" +
    "grants are not copied; each of them is listed.",
    "Without --with-credentials, rows of sessions and verifications are skipped, and passwords and\n" +
    "tokens are cleared. database.cloneMasks in trellis.config.ts masks more columns. Files of an\n" +
    "embedded target are readable by their owner only.",
    "--resume continues an interrupted clone. Its progress is stored in the target, in the schema\n" +
    "trellis_clone, which is dropped when the clone is complete. At the end, the rows of both sides\n" +
    "are counted. Rows that are written to the source during the clone may be missed: clone an idle\n" +
    "database or a restored snapshot.",
  ],
  options: [
    ...databaseOptions("from-"),
    ...databaseOptions("to-"),
    YES_OPTION,
    { name: "resume", description: "Continue an interrupted clone." },
    {
      name: "tables",
      value: "names",
      description: "Copy only these tables, comma-separated.",
    },
    { name: "schema-only", description: "Copy no rows." },
    {
      name: "data-only",
      description: "Copy only rows, into empty tables.",
    },
    {
      name: "with-credentials",
      description: "Also copy sessions, verifications, passwords and tokens.",
    },
    { name: "beside", description: "Allow other tables in the target." },
    {
      name: "numeric",
      value: "p,s",
      description: "Aurora DSQL: precision and scale of numeric columns without one: 38,10.",
    },
    {
      name: "arrays-as-jsonb",
      description: "Aurora DSQL: convert array columns to jsonb.",
    },
  ],
  examples: [
    [
      "trellis db clone --from-url-env PROD_DATABASE_URL --to-folder .trellis/copy",
      "copy production to an embedded database",
    ],
    [
      "trellis db clone --to-endpoint abc123.dsql.eu-central-1.on.aws --numeric 38,10",
      "copy to Aurora DSQL",
    ],
    [
      "trellis db clone --to-endpoint abc123.dsql.eu-central-1.on.aws --numeric 38,10 --resume",
      "continue after an interruption",
    ],
  ],
  exitCodes: {
    [ExitCode.Done]: "Success: the row counts of all tables are equal.",
    [ExitCode.Found]: "Something cannot be cloned and nothing was written, or row counts differ.",
    [ExitCode.Failed]: "It could not run or was interrupted; --resume continues.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { options, root, output } = context;
  const { runClone } = await import("../database/clone/run_clone.ts");
  const { database: settings } = await readProjectConfig(context);
  const { env } = process;
  const wanted = readOptions(options, settings.cloneMasks);
  const isFromNamed = ["url-env", "endpoint", "folder"].some((name) =>
    options[`from-${name}`] !== undefined
  );
  const source = requireDatabase({
    options,
    settings: isFromNamed ? undefined : settings,
    env,
    root,
  }, "from-");
  const target = requireDatabase({ options, env, root }, "to-");
  await confirmRemote(context, `Clone ${source.label} into ${target.label}`, {
    Source: source,
    Target: target,
  });
  const folder = getFolder(target.config);
  if (folder !== undefined) openPrivateFolder(folder);
  // a signal exits immediately; every batch is atomic
  const onExit = (): void =>
    output.note("Interrupted. Copied data stays in the target; --resume continues");
  process.once("exit", onExit);
  if (!output.isJson) output.note(`From ${source.label}\nto   ${target.label}`);
  try {
    const outcome = await runClone({
      source,
      target,
      options: wanted,
      resume: options.resume === true,
      migrations: { schema: settings.migrationsSchema, table: settings.migrationsTable },
      onProgress: output.progress,
      onMessage: (message) => output.note(message),
    });
    output.endProgress();
    const differ = outcome.tables.filter((table) => table.source !== table.target);
    const exitCode = outcome.refusals.length > 0 || differ.length > 0
      ? ExitCode.Found
      : ExitCode.Done;
    report(output, outcome, wanted);
    return {
      exitCode,
      source: source.label,
      target: target.label,
      ...outcome,
    };
  } finally {
    process.removeListener("exit", onExit);
    if (folder !== undefined) makePrivate(folder);
  }
}

/** Returns the folder of an embedded database; `undefined` for an in-memory one. */
function getFolder({ provider, connectionString }: DatabaseSettings): string | undefined {
  const isFolder = provider === "embedded-pg" &&
    !/^[a-z][a-z0-9+.-]+:\/\//i.test(connectionString ?? "");
  return isFolder ? connectionString : undefined;
}

function readOptions(
  options: CommandContext["options"],
  masks: CloneOptions["masks"],
): CloneOptions {
  if (options["schema-only"] && options["data-only"]) {
    throw new UsageError("--schema-only and --data-only exclude each other: use one of them");
  }
  const tables = typeof options.tables === "string"
    ? [
      ...new Set(
        options.tables.split(",").map((name) => name.trim()).filter((name) => name !== ""),
      ),
    ].sort()
    : [];
  if (options.tables !== undefined && tables.length === 0) {
    throw new UsageError("--tables is empty");
  }
  const numeric = readNumeric(options.numeric as string | undefined);
  return {
    tables,
    mode: options["schema-only"] ? "schema" : options["data-only"] ? "data" : "all",
    arraysAsJsonb: options["arrays-as-jsonb"] === true,
    ...numeric === undefined ? {} : { numeric },
    beside: options.beside === true,
    credentials: options["with-credentials"] === true,
    masks,
  };
}

function report(
  output: Output,
  { refusals, warnings, tables, resumed }: CloneOutcome,
  { mode }: CloneOptions,
): void {
  for (const warning of warnings) output.warn(warning);
  for (const refusal of refusals) output.error(refusal);
  if (refusals.length > 0) return output.line("Nothing was cloned");
  const rows = tables.map(({ schema, name, source, target }) => [
    `${schema}.${name}`,
    String(source),
    String(target),
    source === target ? "" : "differs",
  ]);
  printTable(
    output,
    ["table", "source", "target", ""],
    rows,
    (cell, _, column) => column === 3 ? output.red(cell) : cell,
  );
  const differ = rows.filter(([, , , mark]) => mark !== "").length;
  const total = tables.reduce((sum, { target }) => sum + target, 0);
  output.line(
    differ > 0
      ? output.red(
        `${
          count(differ, "table differs", "tables differ")
        }: the source or the target was changed during the clone`,
      )
      : output.green(
        mode === "schema"
          ? "The schema is cloned"
          : `${count(tables.length, "table")}, ${count(total, "row")}${
            resumed ? " (resumed)" : ""
          }: complete`,
      ),
  );
}

/** Creates a folder that only its owner can access, or restricts an existing one. */
function openPrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  chmodSync(path, 0o700);
}

/**
 * Restricts all files in a folder to their owner. Needed because the embedded database sets the
 * modes of its files itself.
 *
 * @param path The folder; a missing folder is ignored.
 */
function makePrivate(path: string): void {
  if (!existsSync(path)) return;
  chmodSync(path, 0o700);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) makePrivate(join(path, entry.name));
    else if (entry.isFile()) chmodSync(join(path, entry.name), 0o600);
  }
}
