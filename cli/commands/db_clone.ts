import process from "node:process";
import { type Command, type CommandContext, ExitCode, UsageError } from "../command.ts";
import type { CloneOptions } from "../database/clone/clone_options.ts";
import type { CloneOutcome } from "../database/clone/run_clone.ts";
import { confirmRemote, YES_OPTION } from "../database/confirm_remote.ts";
import { databaseOptions } from "../database/database_options.ts";
import { readNumeric } from "../database/numeric_option.ts";
import { renderTable } from "../database/text_table.ts";
import type { DatabaseConfig } from "../../database/config.ts";
import type { Output } from "../output.ts";

/** `trellis db clone`. */
export const dbClone: Command = {
  name: "db clone",
  summary: "Copies schema and rows of a database into an empty one, of any provider.",
  description: [
    "The source is the project's database (DATABASE_URL and the like) unless --from-… names another one; the target is named by\n" +
    "--to-… or TARGET_DATABASE_…. The source is read and never written; nothing that the target has is overwritten.",
    "Tables, their rows, constraints, indexes, sequences, enums, domains, views and comments go across, translated for Aurora DSQL\n" +
    "where it needs that. Functions, triggers, policies, materialized views, roles and grants stay: each is named.",
    "Rows of sessions and verifications are left out, and passwords and tokens are emptied, unless --with-credentials is given.\n" +
    "database.cloneMasks of trellis.config.ts replaces the values of further columns. Files of an embedded target are readable by\n" +
    "their owner alone.",
    "A clone that was stopped or killed goes on with --resume where it was. How far it got is kept in the target, in the schema\n" +
    "trellis_clone, which is gone when the clone is done. In the end the rows of both sides are counted.\n" +
    "Rows that somebody writes into the source meanwhile may be missed: clone a database at rest, or a restored snapshot.",
  ],
  options: [
    ...databaseOptions("from-"),
    ...databaseOptions("to-"),
    YES_OPTION,
    { name: "resume", description: "Go on with a clone that was stopped." },
    {
      name: "tables",
      value: "names",
      description: "Only these, divided by commas, with or without their schema.",
    },
    { name: "schema-only", description: "No rows." },
    {
      name: "data-only",
      description: "Rows alone, into tables that are there and empty, such as migrated ones.",
    },
    {
      name: "with-credentials",
      description:
        "Copy sessions, verifications, passwords and tokens too; without it they are left out.",
    },
    { name: "beside", description: "The target may have other tables." },
    {
      name: "numeric",
      value: "p,s",
      description: "Aurora DSQL: what numeric without a precision becomes, such as 38,10.",
    },
    {
      name: "arrays-as-jsonb",
      description: "Aurora DSQL, which stores no arrays: make jsonb of them.",
    },
  ],
  examples: [
    [
      "trellis db clone --from-url-env PROD_DATABASE_URL --to-folder .data/pg",
      "production on the laptop",
    ],
    [
      "trellis db clone --to-endpoint abc123.dsql.eu-central-1.on.aws --numeric 38,10",
      "move to Aurora DSQL",
    ],
    [
      "trellis db clone --to-endpoint abc123.dsql.eu-central-1.on.aws --numeric 38,10 --resume",
      "after it was stopped",
    ],
  ],
  exitCodes: {
    [ExitCode.Done]: "Done: both sides have the same number of rows in every table.",
    [ExitCode.Found]:
      "Something cannot be cloned and nothing was done, or the numbers of rows differ.",
    [ExitCode.Usage]: "The command line is wrong.",
    [ExitCode.Failed]: "It could not run or it stopped; --resume goes on.",
  },
  run,
};

async function run(context: CommandContext): Promise<ExitCode> {
  const { options, root, output } = context;
  const [{ readConfig }, { requireDatabase }, { runClone }, { makePrivate, openPrivateFolder }] =
    await Promise.all([
      import("../analysis/read_config.ts"),
      import("../database/database_target.ts"),
      import("../database/clone/run_clone.ts"),
      import("../database/clone/private_folder.ts"),
    ]);
  const settings = readConfig(root, options.config as string | undefined).database;
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
  // a signal ends the process where it is; every batch is whole
  const onExit = (): void =>
    output.note("Stopped. What is in the target stays: --resume goes on from there");
  process.once("exit", onExit);
  if (!output.isJson) output.note(`From ${source.label}\nto   ${target.label}`);
  try {
    const outcome = await runClone({
      source,
      target,
      options: wanted,
      resume: options.resume === true,
      migrations: { schema: settings.migrationsSchema, table: settings.migrationsTable },
      onProgress: (label, done, total) =>
        output.progress(`${bar(done, total)} ${label}`, done, total),
      onMessage: (message) => output.note(message),
    });
    output.endProgress();
    const differ = outcome.tables.filter((table) => table.source !== table.target);
    const exitCode = outcome.refusals.length > 0 || differ.length > 0
      ? ExitCode.Found
      : ExitCode.Done;
    report(output, outcome, wanted);
    output.result({
      command: "db clone",
      exitCode,
      source: source.label,
      target: target.label,
      ...outcome,
    });
    return exitCode;
  } finally {
    process.removeListener("exit", onExit);
    if (folder !== undefined) makePrivate(folder);
  }
}

/** Returns the folder of an embedded database; one in memory has none. */
function getFolder({ provider, connectionString }: DatabaseConfig): string | undefined {
  const isFolder = provider === "embedded-pg" &&
    !/^[a-z][a-z0-9+.-]+:\/\//i.test(connectionString ?? "");
  return isFolder ? connectionString : undefined;
}

function readOptions(
  options: CommandContext["options"],
  masks: CloneOptions["masks"],
): CloneOptions {
  if (options["schema-only"] && options["data-only"]) {
    throw new UsageError("--schema-only and --data-only leave nothing to do: give one of them");
  }
  const tables = typeof options.tables === "string"
    ? [
      ...new Set(
        options.tables.split(",").map((name) => name.trim()).filter((name) => name !== ""),
      ),
    ].sort()
    : [];
  if (options.tables !== undefined && tables.length === 0) {
    throw new UsageError("--tables names no table");
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

const BAR_WIDTH = 20;

function bar(done: number, total: number): string {
  const filled = total === 0 ? 0 : Math.min(BAR_WIDTH, Math.floor(BAR_WIDTH * done / total));
  return `[${"#".repeat(filled)}${"-".repeat(BAR_WIDTH - filled)}]`;
}

function report(
  output: Output,
  { refusals, warnings, tables, resumed }: CloneOutcome,
  { mode }: CloneOptions,
): void {
  for (const warning of warnings) output.warn(warning);
  for (const refusal of refusals) output.line(`${output.red("error")} ${refusal}`);
  if (refusals.length > 0) return output.line("Nothing was cloned, and nothing was written");
  const rows = tables.map(({ schema, name, source, target }) => [
    `${schema}.${name}`,
    String(source),
    String(target),
    source === target ? "" : "differs",
  ]);
  if (rows.length > 0) {
    const paint = (cell: string, row: number, column: number): string =>
      row === 0 ? output.bold(cell) : column === 3 ? output.red(cell) : cell;
    for (const line of renderTable([["table", "source", "target", ""], ...rows], paint)) {
      output.line(line);
    }
  }
  const differ = rows.filter(([, , , mark]) => mark !== "").length;
  const total = tables.reduce((sum, { target }) => sum + target, 0);
  output.line(
    differ > 0
      ? output.red(
        `${differ} tables differ: the source was written meanwhile, or something wrote into the target`,
      )
      : output.green(
        mode === "schema"
          ? "The schema is cloned"
          : `${tables.length} tables, ${total} rows${
            resumed ? ", gone on with an earlier clone" : ""
          }: all are there`,
      ),
  );
}
