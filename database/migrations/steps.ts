import type { DatabaseProvider } from "../config.ts";
import { adaptForStandardPg } from "../distsql/adapt.ts";
import type { DistSqlOptions } from "../distsql/options.ts";
import { splitStatements, type SqlStatement } from "../distsql/statement.ts";
import { StatementReader } from "../distsql/statement_reader.ts";
import { summarizeStatement } from "../distsql/statement_summary.ts";
import { createLocator, findFirstWord } from "../distsql/text_position.ts";
import { tokenize } from "../distsql/tokenize.ts";
import type { TranslatedStatement } from "../distsql/translate_text.ts";
import type { DistSqlStep } from "../distsql/translation.ts";
import { hashText, type MigrationFile, stripMark } from "./files.ts";
import type { PlanFinding } from "./plan_finding.ts";
import { type TranslatedSource, translateSources } from "./translate_sources.ts";

/** A statement as it is run. */
export interface MigrationStep extends DistSqlStep {
  /** The statement, without its semicolon. */
  readonly sql: string;
  /** SHA-256 of it. */
  readonly hash: string;
  /**
   * `together`: may share a transaction with the note that it is done. `alone`: the server takes it only by itself.
   * `recreate`: the table is made again.
   */
  readonly run: "together" | "alone" | "recreate";
}

/** A step, and where it comes from. */
export interface LocatedStep extends MigrationStep {
  /** The place and the beginning of the statement in the file. */
  readonly place: Pick<PlanFinding, "file" | "line" | "column" | "statement">;
}

/** A migration as it is run. */
export interface PlannedMigration {
  /** The file. */
  file: MigrationFile;
  /** Its statements; none when one of them is refused. */
  steps: MigrationStep[];
  /** The steps on `distsql` with their places in the file, also when a statement of the file is refused. */
  located?: LocatedStep[];
  /** Whether the whole file is one transaction. */
  atomic: boolean;
  /** What is refused, and what behaves differently on this provider. */
  findings: PlanFinding[];
}

/** A comment in a file that wants each statement in a transaction of its own. */
const DIRECTIVE = /^--\s*trellis:\s*no-transaction\s*$/m;

/**
 * Plans the pending migrations: the statements as the provider takes them, and everything that is refused or behaves
 * differently. Runs and writes nothing.
 *
 * @param files All files, in order: what an earlier one declares (an enum's labels) matters to later ones.
 * @param pending Tags of those to run.
 * @param provider Where they run.
 * @param options Choices of the translation for `distsql`.
 * @returns One entry for each pending file, in order.
 */
export function planSteps(
  files: readonly MigrationFile[],
  pending: ReadonlySet<string>,
  provider: DatabaseProvider,
  options: DistSqlOptions,
): PlannedMigration[] {
  if (provider !== "distsql") return files.filter(({ tag }) => pending.has(tag)).map(planForPostgres);
  const sources = files.map(({ tag, sql }) => ({ name: `${tag}.sql`, sql }));
  const translated = translateSources(sources, options);
  return files.flatMap((file, place) => pending.has(file.tag) ? planForDistSql(file, translated[place]) : []);
}

function toStep(sql: string, rest: Omit<MigrationStep, "sql" | "hash">): MigrationStep {
  const bare = sql.trim().replace(/;\s*$/, "");
  return { sql: bare, hash: hashText(bare), ...rest };
}

/** A file without a statement. */
function emptyFile(file: MigrationFile): PlannedMigration {
  const finding: PlanFinding = {
    severity: "error",
    rule: "migration-empty",
    file: `${file.tag}.sql`,
    message: "holds no statement",
    advice: "Write one, or delete the file.",
  };
  return { file, steps: [], atomic: false, findings: [finding] };
}

function planForDistSql(file: MigrationFile, { statements, findings }: TranslatedSource): PlannedMigration {
  if (statements.length === 0) return emptyFile(file);
  const isRefused = findings.some(({ severity }) => severity === "error");
  const steps = statements.map(toSteps);
  const located = statements.flatMap(({ source, line, column }, at) => {
    const place = { file: `${file.tag}.sql`, line, column, statement: summarizeStatement(source.tokens) };
    return steps[at].map((step) => ({ ...step, place }));
  });
  return { file, steps: isRefused ? [] : steps.flat(), located, atomic: false, findings: [...findings] };
}

function toSteps({ steps }: TranslatedStatement): MigrationStep[] {
  return steps.map(({ sql, ...rest }) => {
    const run = rest.recreates ? "recreate" : isRowStatement(readerOf(sql)) ? "together" : "alone";
    return toStep(sql, { run, ...rest });
  });
}

function planForPostgres(file: MigrationFile): PlannedMigration {
  const text = stripMark(file.sql);
  const statements = splitStatements(text).map((source): ReadStatement => ({
    source,
    reader: new StatementReader(source.tokens),
  }));
  if (statements.length === 0) return emptyFile(file);
  const inner = withoutTransaction(statements);
  const findings = findUnrunnable(file, text, inner);
  if (findings.length > 0) return { file, steps: [], atomic: false, findings };
  // a project whose files are written for the distributed provider runs them here too
  const isForDistSql = /\basync\b|\baws\s+iam\b|\bsys\./i.test(text);
  const steps = inner.flatMap((statement) => toPostgresStep(statement, isForDistSql) ?? []);
  const atomic = !DIRECTIVE.test(text) && steps.every(({ run }) => run === "together");
  return { file, steps, atomic, findings };
}

function toPostgresStep({ source, reader }: ReadStatement, isForDistSql: boolean): MigrationStep | undefined {
  const sql = isForDistSql ? adaptForStandardPg(source.text) : source.text;
  if (sql === "") return undefined;
  const read = sql === source.text ? reader : readerOf(sql);
  return toStep(sql, { run: runsAlone(read) ? "alone" : "together" });
}

interface ReadStatement {
  source: SqlStatement;
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
function withoutTransaction(statements: readonly ReadStatement[]): readonly ReadStatement[] {
  const isWrapped = statements.length >= 2 &&
    (statements[0].reader.is(0, "BEGIN") || statements[0].reader.is(0, "START")) &&
    (statements.at(-1)!.reader.is(0, "COMMIT") || statements.at(-1)!.reader.is(0, "END"));
  return isWrapped ? statements.slice(1, -1) : statements;
}

/** Finds statements that the runner cannot run. */
function findUnrunnable(file: MigrationFile, text: string, statements: readonly ReadStatement[]): PlanFinding[] {
  const unrunnable = statements.filter(({ reader }) =>
    reader.isOneOf(0, TRANSACTION_WORDS) || reader.token(0)?.kind === "psql"
  );
  if (unrunnable.length === 0) return [];
  const locate = createLocator(text);
  return unrunnable.map(({ source, reader }) => ({
    severity: "error",
    ...(reader.token(0)?.kind === "psql" ? PSQL_COMMAND : TRANSACTION_CONTROL),
    file: `${file.tag}.sql`,
    ...locate(findFirstWord(source)),
    statement: summarizeStatement(source.tokens),
  }));
}

const TRANSACTION_CONTROL = {
  rule: "migration-transaction",
  message: "begins or ends a transaction, but the file is one",
  advice: "Take the statement out. For one transaction each put the line -- trellis: no-transaction at the file's top.",
} as const;

const PSQL_COMMAND = {
  rule: "psql-command",
  message: "is a command of psql, which no server knows",
  advice: "Write it as SQL.",
} as const;

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
