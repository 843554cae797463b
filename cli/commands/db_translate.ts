import { Buffer } from "node:buffer";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { ConfigurationError } from "../../errors/mod.ts";
import { type Command, type CommandContext, ExitCode, UsageError } from "../command.ts";
import { readNumeric } from "../database/numeric_option.ts";
import type { SqlSource, TranslationFinding } from "../database/translate_sql.ts";
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
  args: [{ name: "file", description: "A file, a folder, or - for standard input.", isOptional: true }],
  options: [
    { name: "to", value: "dialect", description: "distsql or postgres; distsql without it." },
    {
      name: "check",
      description: "Write no SQL; exit with 1 when something cannot be translated or would behave differently.",
    },
    { name: "enums", value: "how", description: "error, or check: text with a CHECK of the labels; error without it." },
    { name: "numeric", value: "p,s", description: "What numeric without a precision becomes, such as 38,10." },
    { name: "as-of", value: "day", description: "The day whose rules of Aurora DSQL count, such as 2026-08-25." },
  ],
  examples: [
    ["trellis db translate migrations/0003_index.sql", "what Aurora DSQL would get"],
    ["trellis db translate migrations --check", "in CI: will Aurora DSQL take all migrations as they are meant?"],
    ["pg_dump --schema-only notes | trellis db translate - > distsql.sql", "from another program"],
    ["trellis db translate --to postgres distsql.sql", "the way back"],
  ],
  exitCodes: {
    [ExitCode.Done]: "Translated; with --check: nothing is refused and nothing behaves differently.",
    [ExitCode.Found]: "Something cannot be translated; with --check also: something would behave differently.",
    [ExitCode.Usage]: "The command line is wrong.",
    [ExitCode.Failed]: "It could not run: a file is missing or cannot be read.",
  },
  run,
};

async function run({ options, args: [path], cwd, output }: CommandContext): Promise<ExitCode> {
  const to = options.to ?? "distsql";
  if (to !== "distsql" && to !== "postgres") throw new UsageError(`--to must be distsql or postgres, got "${to}"`);
  const enums = options.enums as string | undefined;
  if (enums !== undefined && enums !== "error" && enums !== "check") {
    throw new UsageError(`--enums must be error or check, got "${enums}"`);
  }
  const [{ translateSources }, sources] = await Promise.all([
    import("../database/translate_sql.ts"),
    readSources(path, cwd),
  ]);
  const numeric = readNumeric(options.numeric as string | undefined);
  const asOf = options["as-of"] as string | undefined;
  const translated = translateSources(sources, to, { enums, numeric, asOf });
  const findings = translated.flatMap((one) => one.findings);
  const isRefused = findings.some(({ kind }) => kind === "refused");
  const isFound = isRefused || (options.check === true && findings.some(({ kind }) => kind === "differs"));
  const exitCode = isFound ? ExitCode.Found : ExitCode.Done;
  const mayWrite = options.check !== true && !isRefused;

  for (const finding of findings) tell(output, finding);
  if (mayWrite) {
    for (const { file, sql = "" } of translated) {
      if (translated.length > 1) output.line(`-- ${file}`);
      if (sql.trim() !== "") output.line(sql.trimEnd());
    }
  } else if (!output.isJson) {
    const count = (kind: TranslationFinding["kind"]) => findings.filter((finding) => finding.kind === kind).length;
    output.note(
      `${count("refused")} cannot be translated, ${count("differs")} would behave differently, ${
        count("change")
      } changes` +
        (isRefused && options.check !== true ? ": no SQL was written" : ""),
    );
  }
  output.result({
    command: "db translate",
    exitCode,
    to,
    files: translated.map(({ file, sql }) => ({ file, sql: isRefused ? null : sql ?? null })),
    findings,
  });
  return exitCode;
}

const HEADS = { note: "note", change: "changed" } as const;

/** Standard output is the SQL's alone. */
function tell(output: Output, { file, line, kind, rule, message }: TranslationFinding): void {
  if (output.isJson) return;
  const head = kind === "refused" ? output.red("error") : kind === "differs" ? output.yellow("warning") : HEADS[kind];
  output.note(
    `${head} ${file}:${line}: ${message}${rule === undefined || message.includes(`(${rule})`) ? "" : ` (${rule})`}`,
  );
}

async function readSources(path: string | undefined, cwd: string): Promise<SqlSource[]> {
  if (path === "-" || (path === undefined && process.stdin.isTTY !== true)) {
    const parts: Uint8Array[] = [];
    for await (const part of process.stdin) parts.push(part as Uint8Array);
    return [{ name: "<stdin>", sql: Buffer.concat(parts).toString("utf8") }];
  }
  if (path === undefined) throw new UsageError("Nothing to read: give a file, a folder, or - for standard input");
  const absolute = resolve(cwd, path);
  try {
    if (!statSync(absolute).isDirectory()) return [{ name: path, sql: readFileSync(absolute, "utf8") }];
    const files = readdirSync(absolute).filter((name) => name.endsWith(".sql"))
      .sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    if (files.length === 0) throw new ConfigurationError(`${path} has no .sql file`);
    return files.map((name) => ({ name: join(path, name), sql: readFileSync(join(absolute, name), "utf8") }));
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    throw new ConfigurationError(`${path} could not be read: ${(cause as Error).message}`, { cause });
  }
}
