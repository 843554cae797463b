import { existsSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import {
  type Command,
  type CommandContext,
  type CommandResult,
  ExitCode,
} from "../terminal/command.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { databaseOptions } from "../database/database_options.ts";
import { findDatabase } from "../database/database_target.ts";
import { type CapturedRun, runCaptured } from "../terminal/run_captured.ts";
import type { Output } from "../terminal/output.ts";
import { printTable } from "../terminal/text_table.ts";
import { readProjectConfig } from "../config/read_project.ts";
import { checkMigrations } from "./check_migrations.ts";
import { checkPermissionsFresh } from "./check_permissions_fresh.ts";
import { dbMigrate } from "./db_migrate.ts";

/** The project that a check runs for. */
export interface CheckScope {
  readonly config: ResolvedConfig;
  /** Absolute path of the project. */
  readonly root: string;
  /** True if a database is configured. */
  readonly hasDatabase: boolean;
}

/** A check of `trellis check all`. */
export interface ProjectCheck {
  readonly command: Command;
  /** Options of the check, in addition to those of the project. */
  readonly options: Readonly<Record<string, string | boolean>>;
  /** True if it needs the database. */
  readonly needsDatabase?: boolean;
  /** Returns why the check does not apply to the project; `undefined` if it applies. */
  skip(scope: CheckScope): string | undefined;
}

const NO_DATABASE =
  "no database is configured: set DATABASE_URL, or use --url-env, --endpoint or --folder";

/** Skips a check without a file or folder of the project. */
function needsPath(
  getPath: (config: ResolvedConfig) => string,
  reason: string,
): ProjectCheck["skip"] {
  return ({ config, root }) => {
    const path = getPath(config);
    return existsSync(resolve(root, path)) ? undefined : `${path} does not exist: ${reason}`;
  };
}

const hasMigrations = needsPath(
  ({ database }) => database.migrationsDir,
  "this project has no migrations",
);
const hasGrants = needsPath(
  ({ permissions }) => permissions.dir,
  "trellis generate permissions creates it",
);

/** The paths whose files the generators check, by command. */
const GENERATED: Readonly<Record<string, (config: ResolvedConfig) => string>> = {
  "generate infra": ({ infra }) => infra.dir,
  "generate openapi": ({ openapi }) => openapi.file,
  "generate asyncapi": ({ asyncapi }) => asyncapi.file,
  "generate client": ({ client }) => client.file,
  "generate auth-schema": ({ auth }) => auth.schemaFile,
};

/** Skips the check of a generator that the project does not use. */
function getGeneratorSkip(command: string): ProjectCheck["skip"] {
  return Object.hasOwn(GENERATED, command)
    ? needsPath(GENERATED[command], `trellis ${command} creates it`)
    : needsPath(({ functionsDir }) => functionsDir, "this project has no functions");
}

/** Skips a check without a database. */
function withDatabase(skip: ProjectCheck["skip"]): ProjectCheck["skip"] {
  return (scope) => skip(scope) ?? (scope.hasDatabase ? undefined : NO_DATABASE);
}

const DATABASE_CHECKS: readonly ProjectCheck[] = [
  { command: checkMigrations, options: {}, skip: hasMigrations },
  {
    command: dbMigrate,
    options: { check: true },
    needsDatabase: true,
    skip: withDatabase(hasMigrations),
  },
  {
    command: checkPermissionsFresh,
    options: {},
    needsDatabase: true,
    skip: withDatabase(hasGrants),
  },
];

/**
 * Lists the checks of a project.
 *
 * @param generators The commands that generate files and have `--check`.
 * @returns The checks of generated files, then those of the database.
 */
export function listChecks(generators: readonly Command[]): ProjectCheck[] {
  return [
    ...generators.map((command): ProjectCheck => ({
      command,
      options: { check: true },
      skip: getGeneratorSkip(command.name),
    })),
    ...DATABASE_CHECKS,
  ];
}

/** The outcome of a check. */
interface CheckOutcome {
  readonly name: string;
  readonly state: "ok" | "found" | "failed" | "skipped";
  /** Why it was skipped or failed, or what it found. */
  readonly detail: readonly string[];
  /** The JSON result of the check. */
  readonly result: unknown;
}

const COLORS = {
  ok: "green",
  skipped: "yellow",
  found: "red",
  failed: "red",
} as const satisfies Record<CheckOutcome["state"], keyof Output>;

/**
 * Creates the command `trellis check all`.
 *
 * @param checks The checks, in order.
 */
export function createCheckAll(checks: readonly ProjectCheck[]): Command {
  return {
    name: "check all",
    packages: ["acorn", "esbuild"],
    summary: "Runs every check: generated files, migrations and database grants.",
    description: [
      `Runs ${
        checks.map(({ command, options }) => command.name + (options.check ? " --check" : "")).join(
          ", ",
        )
      }.\n` +
      "Nothing is written. Every check runs, even if an earlier one found something.",
      "A check that does not apply to the project is skipped, and the table shows why. If a configured\n" +
      "database does not respond, the check fails; --no-database skips all checks that need one.",
    ],
    options: [
      { name: "no-database", description: "Skip checks that need a database." },
      ...databaseOptions(),
    ],
    examples: [
      ["trellis check all", "all checks, with the database in DATABASE_URL"],
      ["trellis check all --no-database", "in a pull request: only checks of the sources"],
      ["trellis check all --json | jq '.checks[] | select(.state != \"ok\")'", "as JSON"],
    ],
    exitCodes: {
      [ExitCode.Done]: "No check found anything; skipped checks are listed.",
      [ExitCode.Found]: "A check found something.",
      [ExitCode.Failed]: "A check could not run.",
    },
    run: (context) => runAll(checks, context),
  };
}

async function runAll(
  checks: readonly ProjectCheck[],
  context: CommandContext,
): Promise<CommandResult> {
  const { options, output, root } = context;
  const config = await readProjectConfig(context);
  const skipsDatabase = options["no-database"] === true;
  const hasDatabase = !skipsDatabase &&
    isConfigured(() =>
      findDatabase({ options, settings: config.database, env: process.env, root })
    );
  const outcomes: CheckOutcome[] = [];
  for (const check of checks) {
    const { command, needsDatabase } = check;
    output.progress(`Checking: ${command.name}`, outcomes.length + 1, checks.length);
    const reason = needsDatabase && skipsDatabase
      ? "--no-database"
      : check.skip({ config, root, hasDatabase });
    outcomes.push(
      reason === undefined
        ? toOutcome(
          command.name,
          await runCaptured(command, context, {
            ...inheritOptions(options, check),
            ...check.options,
          }),
        )
        : { name: command.name, state: "skipped", detail: [reason], result: null },
    );
  }
  output.endProgress();
  const has = (state: CheckOutcome["state"]) => outcomes.some((outcome) => outcome.state === state);
  const exitCode = has("failed") ? ExitCode.Failed : has("found") ? ExitCode.Found : ExitCode.Done;

  for (const { name, state, detail, result } of outcomes) {
    if (state !== "found" && state !== "failed" && !hasFindings(result)) continue;
    output.line(output.bold(name));
    for (const line of detail) output.line(`  ${line}`);
    output.line();
  }
  const rows = outcomes.map((
    { name, state, detail },
  ) => [name, state, state === "skipped" ? detail[0] : ""]);
  printTable(
    output,
    ["check", "state", ""],
    rows,
    (cell, row, column) => column === 1 ? output[COLORS[outcomes[row].state]](cell) : cell,
  );
  return { exitCode, checks: outcomes };
}

/** Returns true if a successful check has warnings, which are shown too. */
function hasFindings(result: unknown): boolean {
  const { findings } = (result ?? {}) as { findings?: unknown };
  return Array.isArray(findings) && findings.length > 0;
}

/**
 * Returns true if a database is configured, even if incorrectly: the check itself reports the
 * error.
 */
function isConfigured(find: () => unknown): boolean {
  try {
    return find() !== undefined;
  } catch {
    return true;
  }
}

/** Returns the options of the command line that the check supports. */
function inheritOptions(
  options: CommandContext["options"],
  { command }: ProjectCheck,
): CommandContext["options"] {
  const known = ["config", "project", ...command.options.map(({ name }) => name)];
  return Object.fromEntries(Object.entries(options).filter(([name]) => known.includes(name)));
}

const STATES: Readonly<Partial<Record<ExitCode, CheckOutcome["state"]>>> = {
  [ExitCode.Done]: "ok",
  [ExitCode.Found]: "found",
};

function toOutcome(name: string, { exitCode, lines, result }: CapturedRun): CheckOutcome {
  return { name, state: STATES[exitCode] ?? "failed", detail: lines, result };
}
