import type { DatabaseProvider } from "../config.ts";
import { adaptForStandardPg } from "../distsql/adapt.ts";
import { RecreationRequiredError } from "../distsql/errors.ts";
import type { DistSqlOptions } from "../distsql/options.ts";
import { translateForDistSql } from "../distsql/sanitize.ts";
import { splitStatements } from "../distsql/statement.ts";
import { StatementReader } from "../distsql/statement_reader.ts";
import { tokenize } from "../distsql/tokenize.ts";
import type { DistSqlBatch, DistSqlJob } from "../distsql/translation.ts";
import { hashText, type MigrationFile, stripMark } from "./files.ts";
import { MigrationError } from "./migration_error.ts";

/** A statement as it is run. */
export interface MigrationStep {
  /** The statement, without its semicolon. */
  sql: string;
  /** SHA-256 of it. */
  hash: string;
  /**
   * `together`: may share a transaction with the note that it is done. `alone`: the server takes it only by itself.
   * `recreate`: the table is made again.
   */
  run: "together" | "alone" | "recreate";
  /** The background job that it starts. */
  job?: DistSqlJob;
  /** The change in batches that it stands for. */
  batch?: DistSqlBatch;
  /** SQLSTATEs that mean that nothing is left to do. */
  ignores?: readonly string[];
}

/** A migration as it is run. */
export interface PlannedMigration {
  /** The file. */
  file: MigrationFile;
  /** Its statements. */
  steps: MigrationStep[];
  /** Whether the whole file is one transaction. */
  atomic: boolean;
  /** What behaves differently on this provider. */
  warnings: string[];
}

/** A comment in a file that wants each statement in a transaction of its own. */
const DIRECTIVE = /^--\s*trellis:\s*no-transaction\s*$/m;

/**
 * The statements of the pending migrations, as the provider takes them.
 *
 * @param files All files, in order: what an earlier one declares (an enum's labels) may matter to a later one.
 * @param pending Tags of those to run.
 * @param provider Where they run.
 * @param options Choices of the translation for `distsql`.
 * @throws {MigrationError} When a file is empty or has statements that the runner cannot run.
 * @throws {UnsupportedStatementError} When the provider has no counterpart of a statement.
 */
export function planSteps(
  files: readonly MigrationFile[],
  pending: ReadonlySet<string>,
  provider: DatabaseProvider,
  options: DistSqlOptions,
): PlannedMigration[] {
  const planned: PlannedMigration[] = [];
  let known = options;
  for (const file of files) {
    const isPending = pending.has(file.tag);
    if (provider !== "distsql") {
      if (isPending) planned.push(planForPostgres(file));
      continue;
    }
    const translation = translateForDistSql(stripMark(file.sql), known);
    known = {
      ...known,
      enumLabels: { ...known.enumLabels, ...translation.enumLabels },
      domains: [...new Set([...known.domains ?? [], ...translation.domains])],
    };
    if (isPending) planned.push(planForDistSql(file, known));
  }
  return planned;
}

function toStep(sql: string, rest: Omit<MigrationStep, "sql" | "hash">): MigrationStep {
  const bare = sql.trim().replace(/;\s*$/, "");
  return { sql: bare, hash: hashText(bare), ...rest };
}

function assertNotEmpty(file: MigrationFile, count: number): void {
  if (count > 0) return;
  throw new MigrationError(`${file.tag}.sql holds no statement: write one, or delete the file`, { tag: file.tag });
}

function planForDistSql(file: MigrationFile, options: DistSqlOptions): PlannedMigration {
  const text = stripMark(file.sql);
  assertNotEmpty(file, splitStatements(text).length);
  const whole = translateForDistSql(text, options);
  // a table to be made again needs its place among the others, so the statements are translated one by one
  const parts = whole.refusals.length === 0
    ? [whole]
    : splitStatements(text).map((s) => translateForDistSql(s.text, options));
  const sources = whole.refusals.length === 0 ? [text] : splitStatements(text).map((s) => s.text);
  const steps: MigrationStep[] = [];
  parts.forEach((part, index) => {
    const refusal = part.refusals.find((r) => !(r instanceof RecreationRequiredError)) ?? part.refusals[0];
    if (refusal instanceof RecreationRequiredError) steps.push(toStep(sources[index], { run: "recreate" }));
    else if (refusal !== undefined) throw refusal;
    for (const { sql, job, batch, ignores } of part.statements) {
      steps.push(toStep(sql, { run: isRowStatement(readerOf(sql)) ? "together" : "alone", job, batch, ignores }));
    }
  });
  return { file, steps, atomic: false, warnings: parts.flatMap((part) => part.warnings.map((w) => w.message)) };
}

function planForPostgres(file: MigrationFile): PlannedMigration {
  const text = stripMark(file.sql);
  // a project whose files are written for the distributed provider runs them here too
  const sql = /\basync\b|\baws\s+iam\b|\bsys\./i.test(text) ? adaptForStandardPg(text) : text;
  const statements = withoutTransaction(
    file,
    splitStatements(sql).map(({ text, tokens }) => ({
      text,
      reader: new StatementReader(tokens),
    })),
  );
  assertNotEmpty(file, statements.length);
  const steps = statements.map(({ text, reader }) => toStep(text, { run: runsAlone(reader) ? "alone" : "together" }));
  const atomic = !DIRECTIVE.test(text) && steps.every(({ run }) => run === "together");
  return { file, steps, atomic, warnings: [] };
}

interface ReadStatement {
  text: string;
  reader: StatementReader;
}

const TRANSACTION_WORDS: ReadonlySet<string> = new Set([
  "BEGIN",
  "START",
  "COMMIT",
  "END",
  "ROLLBACK",
  "ABORT",
  "SAVEPOINT",
  "RELEASE",
]);

/** BEGIN and COMMIT around a whole file say what the runner does anyway; anywhere else they would undo it. */
function withoutTransaction(file: MigrationFile, statements: ReadStatement[]): ReadStatement[] {
  const isWrapped = statements.length >= 2 &&
    (statements[0].reader.is(0, "BEGIN") || statements[0].reader.is(0, "START")) &&
    (statements.at(-1)!.reader.is(0, "COMMIT") || statements.at(-1)!.reader.is(0, "END"));
  const inner = isWrapped ? statements.slice(1, -1) : statements;
  const at = inner.findIndex(({ reader }) => reader.isOneOf(0, TRANSACTION_WORDS));
  if (at >= 0) {
    throw new MigrationError(
      `${file.tag}.sql begins or ends transactions itself: take those statements out, the file is one transaction; ` +
        "for one transaction each put the line -- trellis: no-transaction at its top",
      { tag: file.tag, statement: at + 1 + (isWrapped ? 1 : 0) },
    );
  }
  const psql = inner.findIndex(({ reader }) => reader.token(0)?.kind === "psql");
  if (psql >= 0) {
    throw new MigrationError(`${file.tag}.sql has a command of psql, which no server knows: write it as SQL`, {
      tag: file.tag,
      statement: psql + 1,
    });
  }
  return inner;
}

function readerOf(sql: string): StatementReader {
  return new StatementReader(tokenize(sql));
}

const ROW_WORDS: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "SELECT", "WITH", "VALUES"]);

function isRowStatement(reader: StatementReader): boolean {
  return reader.isOneOf(0, ROW_WORDS);
}

const CONCURRENTLY: ReadonlySet<string> = new Set(["CONCURRENTLY"]);
const SERVER_WIDE: ReadonlySet<string> = new Set(["DATABASE", "TABLESPACE", "SUBSCRIPTION"]);

/**
 * What PostgreSQL refuses in a transaction, and ALTER TYPE ADD VALUE, whose value cannot be used in the same one.
 * Source: PostgreSQL 18, pages of the commands and PreventInTransactionBlock in utility.c.
 */
function runsAlone(reader: StatementReader): boolean {
  if (reader.is(0, "VACUUM") || reader.is(0, "ALTER", "SYSTEM")) return true;
  if (reader.is(0, "CLUSTER") && reader.size <= 2) return true;
  if ((reader.is(0, "CREATE") || reader.is(0, "DROP")) && reader.isOneOf(1, SERVER_WIDE)) return true;
  if (reader.is(0, "REINDEX") && ["DATABASE", "SYSTEM"].includes(reader.key(1))) return true;
  if (reader.is(0, "ALTER", "TYPE")) return reader.is(reader.nameEnd(2), "ADD", "VALUE");
  const isIndex = reader.is(0, "REINDEX") || reader.is(0, "DROP", "INDEX") || reader.is(0, "CREATE", "INDEX") ||
    reader.is(0, "CREATE", "UNIQUE", "INDEX");
  if (isIndex) return reader.find(CONCURRENTLY, 1) >= 0;
  return reader.is(0, "ALTER", "TABLE") && reader.find(CONCURRENTLY, 2) >= 0;
}
