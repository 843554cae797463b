import { existsSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { type Command, type CommandContext, ExitCode } from "../command.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { databaseOptions } from "../database/database_options.ts";
import { type CapturedRun, runCaptured } from "../database/run_captured.ts";
import { renderTable } from "../database/text_table.ts";
import { checkMigrations } from "./check_migrations.ts";
import { checkPermissionsFresh } from "./check_permissions_fresh.ts";
import { dbMigrate } from "./db_migrate.ts";

/** What a check is told about the project. */
export interface CheckScope {
  readonly config: ResolvedConfig;
  /** Absolute path of the project. */
  readonly root: string;
  /** Whether something names a database. */
  readonly hasDatabase: boolean;
}

/** A check of `trellis check all`. */
export interface ProjectCheck {
  readonly command: Command;
  /** Options that it is run with, beside the project's. */
  readonly options: Readonly<Record<string, string | boolean>>;
  /** Whether it works on the database. */
  readonly needsDatabase?: boolean;
  /** Why it does not apply to a project; `undefined` when it does. */
  skip(scope: CheckScope): string | undefined;
}

const NO_DATABASE =
  "no database is named: set DATABASE_URL, or give --url-env, --endpoint or --folder";

function lacks(scope: CheckScope, path: string, what: string): string | undefined {
  return existsSync(resolve(scope.root, path)) ? undefined : `there is no ${path}: ${what}`;
}

/** The checks of generated files, by the command that writes them: when they do not apply. */
const GENERATED: Readonly<Record<string, ProjectCheck["skip"]>> = {
  "generate permissions": (scope) =>
    lacks(scope, scope.config.functionsDir, "functions are not in this project"),
  "generate infra": (scope) =>
    lacks(scope, scope.config.infra.dir, "trellis generate infra writes it"),
  "generate openapi": (scope) =>
    lacks(scope, scope.config.openapi.file, "trellis generate openapi writes it"),
};

const OF_DATABASE: readonly ProjectCheck[] = [
  {
    command: checkMigrations,
    options: {},
    skip: (scope) =>
      lacks(scope, scope.config.database.migrationsDir, "this project has no migrations"),
  },
  {
    command: dbMigrate,
    options: { check: true },
    needsDatabase: true,
    skip: (scope) =>
      lacks(scope, scope.config.database.migrationsDir, "this project has no migrations") ??
        (scope.hasDatabase ? undefined : NO_DATABASE),
  },
  {
    command: checkPermissionsFresh,
    options: {},
    needsDatabase: true,
    skip: (scope) =>
      lacks(scope, scope.config.permissions.dir, "trellis generate permissions writes it") ??
        (scope.hasDatabase ? undefined : NO_DATABASE),
  },
];

/**
 * The checks that a project has.
 *
 * @param generators The commands that write files and have `--check`.
 * @returns Theirs, then the database's.
 */
export function listChecks(generators: readonly Command[]): ProjectCheck[] {
  return [
    ...generators.map((command): ProjectCheck => ({
      command,
      options: { check: true },
      skip: GENERATED[command.name] ?? (() => undefined),
    })),
    ...OF_DATABASE,
  ];
}

/** How a check ended. */
interface CheckOutcome {
  readonly name: string;
  readonly state: "ok" | "found" | "failed" | "skipped";
  /** Why it was skipped or could not run; what it found. */
  readonly detail: readonly string[];
  /** The check's own document. */
  readonly result: unknown;
}

/**
 * Makes `trellis check all`.
 *
 * @param checks What it runs, in order.
 * @returns The command.
 */
export function createCheckAll(checks: readonly ProjectCheck[]): Command {
  return {
    name: "check all",
    summary: "Runs every check: generated files, migrations, and what the database grants.",
    description: [
      `Runs ${
        checks.map(({ command, options }) => command.name + (options.check ? " --check" : "")).join(
          ", ",
        )
      }.\n` +
      "Nothing is written. Every check runs, whatever the ones before it found.",
      "A check that does not apply to the project is skipped, and the table says why. A database that is named and does not\n" +
      "answer is a failure, since nothing is known about it; --no-database leaves its checks out.",
    ],
    options: [
      { name: "no-database", description: "Skip what needs a database." },
      ...databaseOptions(),
    ],
    examples: [
      ["trellis check all", "everything, on the database that DATABASE_URL names"],
      ["trellis check all --no-database", "in a pull request: what the sources alone can tell"],
      ["trellis check all --json | jq '.checks[] | select(.state != \"ok\")'", "for a program"],
    ],
    exitCodes: {
      [ExitCode.Done]: "No check found anything; skipped ones are named.",
      [ExitCode.Found]: "A check found something.",
      [ExitCode.Usage]: "The command line is wrong.",
      [ExitCode.Failed]: "A check could not run, whatever the others found.",
    },
    run: (context) => runAll(checks, context),
  };
}

async function runAll(checks: readonly ProjectCheck[], context: CommandContext): Promise<ExitCode> {
  const { options, output, root } = context;
  const [{ readConfig }, { findDatabase }] = await Promise.all([
    import("../analysis/read_config.ts"),
    import("../database/database_target.ts"),
  ]);
  const config = readConfig(root, options.config as string | undefined);
  const isWithout = options["no-database"] === true;
  const hasDatabase = !isWithout &&
    mayReach(() => findDatabase({ options, settings: config.database, env: process.env, root }));
  const outcomes: CheckOutcome[] = [];
  for (const check of checks) {
    const { command, needsDatabase } = check;
    output.progress(`Checking: ${command.name}`, outcomes.length + 1, checks.length);
    const why = needsDatabase && isWithout
      ? "--no-database"
      : check.skip({ config, root, hasDatabase });
    outcomes.push(
      why === undefined
        ? toOutcome(
          command.name,
          await runCaptured(command, context, { ...inherited(options, check), ...check.options }),
        )
        : { name: command.name, state: "skipped", detail: [why], result: null },
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
  const paint = (cell: string, row: number, column: number): string => {
    if (row === 0) return output.bold(cell);
    if (column !== 1) return cell;
    const { state } = outcomes[row - 1];
    return state === "ok"
      ? output.green(cell)
      : state === "skipped"
      ? output.yellow(cell)
      : output.red(cell);
  };
  const rows = outcomes.map((
    { name, state, detail },
  ) => [name, state, state === "skipped" ? detail[0] : ""]);
  for (const line of renderTable([["check", "state", ""], ...rows], paint)) output.line(line);
  output.result({ command: "check all", exitCode, checks: outcomes });
  return exitCode;
}

/** Warnings of a check that passed are worth a look too. */
function hasFindings(result: unknown): boolean {
  const { findings } = (result ?? {}) as { findings?: unknown };
  return Array.isArray(findings) && findings.length > 0;
}

/** A database that is named wrongly is for the check to tell. */
function mayReach(find: () => unknown): boolean {
  try {
    return find() !== undefined;
  } catch {
    return true;
  }
}

/** What of the command line is meant for a check too. */
function inherited(
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
