import { Buffer } from "node:buffer";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import process from "node:process";
import type { DistSqlOptions } from "../../distsql/translate/context/options.ts";
import type { PlanFinding } from "../../sql/plan_finding.ts";
import type { SqlSource } from "../../distsql/findings/translate_sources.ts";
import { isAppError } from "../../errors/app_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { TranslationSettings } from "../config/database.ts";
import { findConfigFile } from "../discovery/config_file.ts";
import type { Command, CommandContext, CommandResult } from "../terminal/command.ts";
import { ExitCode, UsageError } from "../terminal/command.ts";
import { readNumeric } from "../database/numeric_option.ts";
import type { TranslationChange } from "../database/translate_sql.ts";
import { hasErrors, printFindings } from "../database/print_findings.ts";
import { count } from "../terminal/generated_report.ts";
import type { Output } from "../terminal/output.ts";
import { readProjectConfig } from "../config/read_project.ts";
import { withoutUndefined } from "../config/config.ts";

/** The command `trellis db translate`. */
export const dbTranslate: Command = {
  name: "db translate",
  summary: "Translates SQL between PostgreSQL and Aurora DSQL.",
  description: [
    "Reads a file, all .sql files of a folder in the order of their names, or standard input. Writes\n" +
    "the SQL to standard output with one statement per transaction, and each change with its reason,\n" +
    "file and line to standard error.",
    "A statement that protects data (a foreign key, a check, a unique constraint) is never dropped\n" +
    "silently: statements that cannot be translated are listed with an alternative, and no SQL is\n" +
    "written. db migrate translates automatically, so files need not be translated for it. No\n" +
    "database is needed.",
  ],
  args: [{
    name: "file",
    description: "A file, a folder, or - for standard input.",
    isOptional: true,
  }],
  options: [
    { name: "to", value: "dialect", description: "distsql (default) or postgres." },
    {
      name: "check",
      description: "Write no SQL; exit with 1 if a statement cannot be translated or behaves " +
        "differently.",
    },
    {
      name: "enums",
      value: "how",
      description: "error (default), or check: text columns with a CHECK of the labels.",
    },
    {
      name: "numeric",
      value: "p,s",
      description: "Precision and scale of numeric columns without one: 38,10.",
    },
    {
      name: "as-of",
      value: "day",
      description: "Use the rules of this day: 2026-08-25.",
    },
  ],
  examples: [
    ["trellis db translate migrations/0003_index.sql", "print the statements for Aurora DSQL"],
    [
      "trellis db translate migrations --check",
      "in CI: check that Aurora DSQL supports all migrations",
    ],
    [
      "pg_dump --schema-only notes | trellis db translate - > distsql.sql",
      "translate the output of another program",
    ],
    ["trellis db translate --to postgres distsql.sql", "translate back to PostgreSQL"],
  ],
  exitCodes: {
    [ExitCode.Done]: "Translated; with --check: every statement is supported and behaves the same.",
    [ExitCode.Found]:
      "A statement cannot be translated; with --check also: a statement would behave differently.",
  },
  run,
};

async function run(context: CommandContext): Promise<CommandResult> {
  const { options, args: [path], cwd, output } = context;
  const to = options.to ?? "distsql";
  if (to !== "distsql" && to !== "postgres") {
    throw new UsageError(`--to must be distsql or postgres, got "${to}"`);
  }
  const enums = options.enums as string | undefined;
  if (enums !== undefined && enums !== "error" && enums !== "check") {
    throw new UsageError(`--enums must be error or check, got "${enums}"`);
  }
  const { translateTexts } = await import("../database/translate_sql.ts");
  const settings = await readSettings(context);
  const numeric = readNumeric(options.numeric as string | undefined);
  const asOf = options["as-of"] as string | undefined;
  const choices: DistSqlOptions = { ...settings, ...withoutUndefined({ enums, numeric, asOf }) };
  const { sources, folder, found } = await readSources(path, cwd, to, choices);
  const translated = translateTexts(sources, to, choices);
  const findings = found ?? translated.flatMap((one) => one.findings);
  const changes = translated.flatMap((one) => one.changes);
  const refused = translated.reduce((sum, one) => sum + one.refused, 0);
  const isRefused = refused > 0 || hasErrors(findings);
  const isFound = isRefused || (options.check === true && findings.length > 0);
  const exitCode = isFound ? ExitCode.Found : ExitCode.Done;

  printFindings(output, findings, folder);
  if (!output.isJson) { for (const change of changes) logChange(output, change, folder); }
  if (options.check !== true && !isRefused) {
    for (const { file, sql = "" } of translated) {
      if (translated.length > 1) output.line(`-- ${join(folder, file)}`);
      if (sql.trim() !== "") output.line(sql.trimEnd());
    }
  } else if (!output.isJson) {
    const warnings = findings.filter(({ severity }) => severity === "warning").length;
    output.note(
      `${refused} cannot be translated, ${count(warnings, "warning")}, ${
        count(changes.length, "change")
      }` +
        (options.check === true ? "" : ": no SQL was written"),
    );
  }
  return {
    exitCode,
    to,
    files: translated.map(({ file, sql }) => ({
      file: join(folder, file),
      sql: isRefused ? null : sql ?? null,
    })),
    findings,
    changes,
  };
}

/**
 * Reads the translation options of the project. The parser of the configuration is loaded only if
 * there is one.
 */
async function readSettings(context: CommandContext): Promise<TranslationSettings | undefined> {
  const { root, options } = context;
  if (findConfigFile(root, options.config as string | undefined) === undefined) return undefined;
  return (await readProjectConfig(context)).database.translation;
}

/** Logs a change to standard error; standard output contains only SQL. */
function logChange(
  output: Output,
  { kind, file, line, column, rule, message }: TranslationChange,
  folder: string,
): void {
  const end = rule === undefined ? "" : ` (${rule})`;
  output.note(
    `${kind === "note" ? "note" : "changed"} ${
      join(folder, file)
    }:${line}:${column}: ${message}${end}`,
  );
}
/** The SQL to translate. */
interface Sources {
  readonly sources: readonly SqlSource[];
  /** The folder of the sources, relative to the working directory. */
  readonly folder: string;
  /** Findings of the plan for a folder of migrations. */
  readonly found?: readonly PlanFinding[];
}

async function readSources(
  path: string | undefined,
  cwd: string,
  to: "distsql" | "postgres",
  choices: DistSqlOptions,
): Promise<Sources> {
  if (path === "-" || (path === undefined && process.stdin.isTTY !== true)) {
    const parts: Uint8Array[] = [];
    for await (const part of process.stdin) parts.push(part as Uint8Array);
    return {
      sources: [{ name: "<stdin>", sql: Buffer.concat(parts).toString("utf8") }],
      folder: "",
    };
  }
  if (path === undefined) {
    throw new UsageError("No input: pass a file, a folder, or - for standard input");
  }
  const absolute = resolve(cwd, path);
  try {
    if (!statSync(absolute).isDirectory()) {
      return { sources: [{ name: path, sql: readFileSync(absolute, "utf8") }], folder: "" };
    }
    const names = readdirSync(absolute).filter((name) => name.endsWith(".sql"));
    if (names.length === 0) throw new ConfigurationError(`${path} contains no .sql file`);
    const folder = relative(cwd, absolute);
    const isMigrations = existsSync(join(absolute, "meta", "_journal.json")) ||
      names.every((name) => /^\d+_./.test(name));
    if (isMigrations) return { ...await planFolder(absolute, to, choices), folder };
    names.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    return {
      sources: names.map((name) => ({ name, sql: readFileSync(join(absolute, name), "utf8") })),
      folder,
    };
  } catch (cause) {
    if (isAppError(cause)) throw cause;
    throw new ConfigurationError(`${path} cannot be read: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/**
 * Plans a folder of migrations: files in the order in which they run, with the findings of a run.
 */
async function planFolder(
  absolute: string,
  to: "distsql" | "postgres",
  choices: DistSqlOptions,
): Promise<Omit<Sources, "folder">> {
  const { planMigrationFolder } = await import("../../database/migrations/plan_folder.ts");
  const { files, findings } = await planMigrationFolder(
    absolute,
    to,
    choices,
  );
  return { sources: files.map(({ tag, sql }) => ({ name: `${tag}.sql`, sql })), found: findings };
}
