import { Buffer } from "node:buffer";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import process from "node:process";
import type { DistSqlOptions } from "../../database/distsql/options.ts";
import type { PlanFinding } from "../../database/migrations/plan_finding.ts";
import type { SqlSource } from "../../database/migrations/translate_sources.ts";
import { isAppError } from "../../errors/app_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { TranslationSettings } from "../config/database.ts";
import { findConfigFile } from "../config/config_file.ts";
import { type Command, type CommandContext, ExitCode, UsageError } from "../command.ts";
import { readNumeric } from "../database/numeric_option.ts";
import type { TranslationChange } from "../database/translate_sql.ts";
import type { Output } from "../output.ts";

/** `trellis db translate`. */
export const dbTranslate: Command = {
  name: "db translate",
  summary: "Translates SQL between PostgreSQL and Aurora DSQL.",
  description: [
    "Reads a file, all .sql files of a folder in the order of their names, or standard input, and writes the SQL to standard\n" +
    "output: one statement a transaction. What is changed, and why, is told on standard error by file and line.",
    "Nothing that protects data (a foreign key, a check, a unique constraint) is dropped in silence: what cannot be translated is\n" +
    "named with what to write instead, and no SQL is written. db migrate does the same by itself; no file needs to be translated\n" +
    "for it. No database is needed.",
  ],
  args: [{
    name: "file",
    description: "A file, a folder, or - for standard input.",
    isOptional: true,
  }],
  options: [
    { name: "to", value: "dialect", description: "distsql or postgres; distsql without it." },
    {
      name: "check",
      description:
        "Write no SQL; exit with 1 when something cannot be translated or would behave differently.",
    },
    {
      name: "enums",
      value: "how",
      description: "error, or check: text with a CHECK of the labels; error without it.",
    },
    {
      name: "numeric",
      value: "p,s",
      description: "What numeric without a precision becomes, such as 38,10.",
    },
    {
      name: "as-of",
      value: "day",
      description: "The day whose rules of Aurora DSQL count, such as 2026-08-25.",
    },
  ],
  examples: [
    ["trellis db translate migrations/0003_index.sql", "what Aurora DSQL would get"],
    [
      "trellis db translate migrations --check",
      "in CI: will Aurora DSQL take all migrations as they are meant?",
    ],
    ["pg_dump --schema-only notes | trellis db translate - > distsql.sql", "from another program"],
    ["trellis db translate --to postgres distsql.sql", "the way back"],
  ],
  exitCodes: {
    [ExitCode.Done]:
      "Translated; with --check: nothing is refused and nothing behaves differently.",
    [ExitCode.Found]:
      "Something cannot be translated; with --check also: something would behave differently.",
    [ExitCode.Usage]: "The command line is wrong.",
    [ExitCode.Failed]: "It could not run: a file is missing or cannot be read.",
  },
  run,
};

async function run(
  { options, args: [path], cwd, root, output }: CommandContext,
): Promise<ExitCode> {
  const to = options.to ?? "distsql";
  if (to !== "distsql" && to !== "postgres") {
    throw new UsageError(`--to must be distsql or postgres, got "${to}"`);
  }
  const enums = options.enums as string | undefined;
  if (enums !== undefined && enums !== "error" && enums !== "check") {
    throw new UsageError(`--enums must be error or check, got "${enums}"`);
  }
  const [{ translateTexts }, settings, print] = await Promise.all([
    import("../database/translate_sql.ts"),
    readSettings(root, options.config as string | undefined),
    import("../database/print_findings.ts"),
  ]);
  const numeric = readNumeric(options.numeric as string | undefined);
  const asOf = options["as-of"] as string | undefined;
  const choices: DistSqlOptions = { ...settings, ...withoutUndefined({ enums, numeric, asOf }) };
  const { sources, folder, found } = await readSources(path, cwd, to, choices);
  const translated = translateTexts(sources, to, choices);
  const findings = found ?? translated.flatMap((one) => one.findings);
  const changes = translated.flatMap((one) => one.changes);
  const refused = translated.reduce((sum, one) => sum + one.refused, 0);
  const isRefused = refused > 0 || print.hasErrors(findings);
  const isFound = isRefused || (options.check === true && findings.length > 0);
  const exitCode = isFound ? ExitCode.Found : ExitCode.Done;

  print.printFindings(output, findings, folder);
  if (!output.isJson) { for (const change of changes) tell(output, change, folder); }
  if (options.check !== true && !isRefused) {
    for (const { file, sql = "" } of translated) {
      if (translated.length > 1) output.line(`-- ${join(folder, file)}`);
      if (sql.trim() !== "") output.line(sql.trimEnd());
    }
  } else if (!output.isJson) {
    const warnings = findings.filter(({ severity }) => severity === "warning").length;
    output.note(
      `${refused} cannot be translated, ${warnings} warnings, ${changes.length} changes` +
        (options.check === true ? "" : ": no SQL was written"),
    );
  }
  output.result({
    command: "db translate",
    exitCode,
    to,
    files: translated.map(({ file, sql }) => ({
      file: join(folder, file),
      sql: isRefused ? null : sql ?? null,
    })),
    findings,
    changes,
  });
  return exitCode;
}

/** The project's choices of the translation. The reader of the configuration is loaded only where there is one. */
async function readSettings(
  root: string,
  file: string | undefined,
): Promise<TranslationSettings | undefined> {
  if (findConfigFile(root, file) === undefined) return undefined;
  const { readConfig } = await import("../analysis/read_config.ts");
  return readConfig(root, file).database.translation;
}

function withoutUndefined<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
}

/** Standard output is the SQL's alone. */
function tell(
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
/** What is translated. */
interface Sources {
  readonly sources: readonly SqlSource[];
  /** The folder of the sources, relative to the working directory. */
  readonly folder: string;
  /** What planning finds in a folder of migrations. */
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
    throw new UsageError("Nothing to read: give a file, a folder, or - for standard input");
  }
  const absolute = resolve(cwd, path);
  try {
    if (!statSync(absolute).isDirectory()) {
      return { sources: [{ name: path, sql: readFileSync(absolute, "utf8") }], folder: "" };
    }
    const names = readdirSync(absolute).filter((name) => name.endsWith(".sql"));
    if (names.length === 0) throw new ConfigurationError(`${path} has no .sql file`);
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
    throw new ConfigurationError(`${path} could not be read: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** A folder of migrations is translated in the order in which it is run, with the findings of a run. */
async function planFolder(
  absolute: string,
  to: "distsql" | "postgres",
  choices: DistSqlOptions,
): Promise<Omit<Sources, "folder">> {
  const { planMigrationFolder } = await import("../../database/migrations/plan_folder.ts");
  const { files, findings } = planMigrationFolder(
    absolute,
    to === "distsql" ? "distsql" : "serverless-pg",
    choices,
  );
  return { sources: files.map(({ tag, sql }) => ({ name: `${tag}.sql`, sql })), found: findings };
}
