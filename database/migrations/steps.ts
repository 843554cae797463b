import {
  adaptForStandardPg,
  type DeclaredSchema,
  type DistSqlOptions,
  type DistSqlStep,
  type FileTransactions,
  findStatementProblems,
  getIncompatibility,
  type ReadStatement,
  type TranslatedSource,
  type TranslatedStatement,
  translateSources,
} from "../../distsql/engine.ts";
import type { DatabaseProvider } from "../config/config.ts";
import { findCommentedKeys } from "../../sql/commented_keys.ts";
import { splitStatements } from "../../sql/statement.ts";
import { parseStatement, StatementReader } from "../../sql/statement_reader.ts";
import { maskStatement } from "../../sql/mask_statement.ts";
import { createLocator, findFirstWord, stripMark } from "../../sql/text_position.ts";
import { readTransactionControl } from "../../sql/transaction_blocks.ts";
import { hashText, type MigrationFile } from "./files.ts";
import type { PlanFinding } from "../../sql/plan_finding.ts";
import { keywordSet } from "../../sql/list_words.ts";
import { isSessionSetting, isTransactionSetting } from "../../sql/setting_statements.ts";
import { readStrongLocks, type StrongLock } from "./statement_locks.ts";

/** Statement of a migration, ready to run. */
export interface MigrationStep extends DistSqlStep {
  /** The statement, without its semicolon. */
  readonly sql: string;
  /** SHA-256 of the statement. */
  readonly hash: string;
  /**
   * `transactional`: may share a transaction with its record. `standalone`: the server does not
   * allow other statements in its transaction. `recreate`: the table is recreated.
   */
  readonly run: "transactional" | "standalone" | "recreate";
  /** Line of the statement in the file, from 1. */
  readonly line: number;
  /** Statements of a `BEGIN … COMMIT` block, which form one transaction. */
  readonly block?: readonly MigrationStep[];
  /** Locks that others notice; only on PostgreSQL. */
  readonly locks?: readonly StrongLock[];
  /** True for DO and CALL, whose locks are unknown and which may handle errors themselves. */
  readonly hidesLocks?: boolean;
  /** Statement that removes the effect of the step before, if the rows break the rule of this one. */
  readonly undo?: string;
  /** True for a change of rows that runs in batches: see {@link isBackfill}. */
  readonly inBatches?: boolean;
}

/** Step with its location. */
export interface LocatedStep extends MigrationStep {
  /** Location and beginning of the statement in the file. */
  readonly place: Pick<PlanFinding, "file" | "line" | "column" | "statement">;
  /** Declarations of the files before the statement. */
  readonly before: DeclaredSchema;
}

/** Migration, ready to run. */
export interface PlannedMigration {
  /** The file. */
  file: MigrationFile;
  /** Statements; empty if any of them is rejected. */
  steps: MigrationStep[];
  /** Steps on `distsql` with their locations, also if a statement of the file is rejected. */
  located?: LocatedStep[];
  /** True if the whole file is one transaction. */
  atomic: boolean;
  /**
   * True if the runner must not split the file: it begins a transaction itself, or its statements
   * depend on the state of one.
   */
  isWhole?: boolean;
  /** Errors and warnings on this provider. */
  findings: PlanFinding[];
}

/** Comment that requests a separate transaction per statement. */
const DIRECTIVE = /^--\s*trellis:\s*no-transaction\s*$/m;

/**
 * Plans the pending migrations: the statements for the provider, and all errors and warnings. Runs
 * and writes nothing.
 *
 * @param files All files, in order; declarations in earlier files (such as an enum's labels) are
 * needed for later ones.
 * @param pending Tags of the pending migrations.
 * @param provider Target provider.
 * @param options Translation options for `distsql`.
 * @returns One entry per pending file, in order.
 */
export function planSteps(
  files: readonly MigrationFile[],
  pending: ReadonlySet<string>,
  provider: DatabaseProvider,
  options: DistSqlOptions,
): PlannedMigration[] {
  if (provider !== "distsql") {
    return files.filter(({ tag }) => pending.has(tag)).map(planForPostgres);
  }
  const sources = files.map(({ path, sql }) => ({ name: path, sql }));
  const translated = translateSources(sources, options);
  return files.flatMap((file, place) =>
    pending.has(file.tag) ? planForDistSql(file, translated[place]) : []
  );
}

function toStep(sql: string, rest: Omit<MigrationStep, "sql" | "hash">): MigrationStep {
  const bare = sql.trim().replace(/;\s*$/, "");
  return { sql: bare, hash: hashText(bare), ...rest };
}

/**
 * Rejects an empty file, which may have been cut off. A file with comments only is applied with a
 * warning: drizzle-kit writes one for statements of your own.
 */
function emptyFile(file: MigrationFile): PlannedMigration {
  // a rollback of migrations that have changed nothing
  if (file.rollsBack !== undefined) return { file, steps: [], atomic: true, findings: [] };
  const isCommented = stripMark(file.sql).trim() !== "";
  const finding: PlanFinding = {
    severity: isCommented ? "warning" : "error",
    rule: "migration-empty",
    file: file.path,
    message: "contains no statement",
    advice: isCommented
      ? "Add a statement before you apply it: an applied file must not change."
      : "Add a statement, or delete the file.",
  };
  return { file, steps: [], atomic: isCommented, findings: [finding] };
}

function planForDistSql(
  file: MigrationFile,
  { statements, findings }: TranslatedSource,
): PlannedMigration {
  if (statements.length === 0) return emptyFile(file);
  const isRefused = findings.some(({ severity }) => severity === "error");
  const steps = statements.map((statement) => toSteps(statement, statement.line));
  const located = statements.flatMap(({ source, line, column, before }, at) => {
    const place = {
      file: file.path,
      line,
      column,
      statement: maskStatement(source.tokens),
    };
    return steps[at].map((step) => ({ ...step, place, before }));
  });
  return {
    file,
    steps: isRefused ? [] : steps.flat(),
    located,
    atomic: false,
    findings: [...findings],
  };
}

function toSteps({ steps }: TranslatedStatement, line: number): MigrationStep[] {
  return steps.map(({ sql, ...rest }) => {
    if (rest.recreates) return toStep(sql, { run: "recreate", line, ...rest });
    const run = isRowStatement(parseStatement(sql)) ? "transactional" : "standalone";
    return toStep(sql, { run, line, ...rest });
  });
}

/** File for PostgreSQL with its transaction control. */
export interface PostgresFile extends FileTransactions {
  /** True if the runner must not split the file into several transactions. */
  readonly isWhole: boolean;
}

/**
 * Parses a file for PostgreSQL.
 *
 * @param file The file.
 */
export function readPostgresFile(file: Pick<MigrationFile, "path" | "sql">): PostgresFile {
  const text = stripMark(file.sql);
  const statements = splitStatements(text).map((source): ReadStatement => ({
    source,
    reader: new StatementReader(source.tokens),
  }));
  const control = readTransactionControl(statements.map(({ reader }) => reader));
  const isStepwise = DIRECTIVE.test(text) ||
    statements.some(({ reader }) => runsAlone(reader) || isBackfill(reader));
  const isWhole = !isStepwise &&
    (control.blocks.length > 0 || statements.some(({ reader }) => needsTransaction(reader)));
  return { file: file.path, text, statements, control, isStepwise, isWhole };
}

function planForPostgres(file: MigrationFile): PlannedMigration {
  const transactions = readPostgresFile(file);
  const { text, statements, isStepwise, isWhole } = transactions;
  const commented = findCommented(file, text);
  if (statements.length === 0 && commented.length === 0) return emptyFile(file);
  const problems = findStatementProblems(transactions, cannotShare);
  const findings = [...commented, ...problems, ...findMisplacedBackfills(transactions)]
    .sort((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0));
  if (findings.length > 0) return { file, steps: [], atomic: false, findings };
  return { file, steps: toPostgresSteps(transactions), atomic: !isStepwise, isWhole, findings };
}

const BACKFILL = /^--\s*trellis:\s*backfill\s*$/;

/**
 * Checks for the comment `-- trellis: backfill` before a statement, which requests batches by key.
 *
 * @param reader The statement.
 */
export function isBackfill({ tokens, places }: StatementReader): boolean {
  return tokens.slice(0, places[0])
    .some(({ kind, text }) => kind === "line_comment" && BACKFILL.test(text.trimEnd()));
}

/** Finds backfills that cannot be a change of rows in batches. */
function findMisplacedBackfills(
  { file, text, statements, control }: PostgresFile,
): PlanFinding[] {
  const locate = createLocator(text);
  return statements.flatMap(({ source, reader }, place): PlanFinding[] => {
    if (!isBackfill(reader)) return [];
    const isChange = reader.is(0, "UPDATE") || reader.is(0, "DELETE");
    const isInBlock = control.blocks.some(({ from, to }) => from < place && place < to);
    if (isChange && !isInBlock) return [];
    return [{
      severity: "error",
      rule: "migration-backfill",
      file,
      ...locate(findFirstWord(source)),
      statement: maskStatement(source.tokens),
      message: isInBlock
        ? "is a backfill, whose batches are transactions, but is between BEGIN and COMMIT"
        : "is no UPDATE or DELETE, so that it cannot be a backfill",
      advice:
        "Write -- trellis: backfill directly before an UPDATE or DELETE, outside of BEGIN and COMMIT.",
    }];
  });
}

const OF_TRANSACTION: ReadonlySet<string> = keywordSet("SET RESET LOCK DECLARE");

/** Checks for statements whose effect ends with the transaction, or with the session. */
function needsTransaction(reader: StatementReader): boolean {
  return reader.isOneOf(0, OF_TRANSACTION) || isSessionSetting(reader) ||
    isTransactionSetting(reader) || reader.find("TEMP", 1, 4) >= 0 ||
    reader.find("TEMPORARY", 1, 4) >= 0 || /\badvisory_(?:xact_)?lock/i.test(reader.source);
}

/**
 * Splits a file into steps. If the file is one transaction, its BEGIN and COMMIT are dropped;
 * otherwise each pair is one step.
 */
function toPostgresSteps(
  { text, statements, control, isStepwise }: FileTransactions,
): MigrationStep[] {
  // files written for the distributed provider also run on PostgreSQL
  const isForDistSql = /\basync\b|\baws\s+iam\b|\bsys\./i.test(text);
  const getSql = ({ source }: ReadStatement): string =>
    isForDistSql ? adaptForStandardPg(source.text) : source.text;
  const locate = createLocator(text);
  const read = (one: ReadStatement): MigrationStep[] =>
    toPostgresStep(getSql(one), locate(findFirstWord(one.source)).line);
  const steps: MigrationStep[] = [];
  for (let place = 0; place < statements.length; place++) {
    const block = control.blocks.find(({ from }) => from === place);
    if (block === undefined) steps.push(...read(statements[place]));
    else {
      const inner = statements.slice(block.from + 1, block.to).flatMap(read);
      if (isStepwise) steps.push(...toBlock(inner));
      else for (const step of inner) steps.push(step);
      place = block.to;
    }
  }
  return steps;
}

/**
 * Joins steps into one that is a transaction; nothing for no steps.
 *
 * @param inner Steps that can share a transaction.
 */
export function toBlock(inner: readonly MigrationStep[]): MigrationStep[] {
  if (inner.length === 0) return [];
  const text = inner.map(({ sql }) => sql).join(";\n");
  const locks = inner.flatMap((step) => step.locks ?? []);
  const hidesLocks = inner.some((step) => step.hidesLocks);
  const { line } = inner[0];
  return [toStep(text, { run: "transactional", block: inner, line, locks, hidesLocks })];
}

/**
 * Creates the step of a statement; nothing for an empty text.
 *
 * @param sql The statement.
 * @param line Its line in the file, from 1.
 */
export function toPostgresStep(sql: string, line: number): MigrationStep[] {
  if (sql === "") return [];
  const reader = parseStatement(sql);
  const run = runsAlone(reader) ? "standalone" : "transactional";
  const hidesLocks = reader.is(0, "DO") || reader.is(0, "CALL");
  const inBatches = isBackfill(reader);
  return [toStep(sql, { run, line, locks: readStrongLocks(reader), hidesLocks, inBatches })];
}

/** Finds comments of drizzle-kit that replace a statement. */
function findCommented(file: MigrationFile, text: string): PlanFinding[] {
  const keys = findCommentedKeys(text);
  if (keys.length === 0) return [];
  const locate = createLocator(text);
  const { title, advice } = getIncompatibility("primary-key-commented")!;
  return keys.map(({ start, table }) => ({
    severity: "error",
    rule: "primary-key-commented",
    file: file.path,
    ...locate(start),
    table,
    message: `ALTER TABLE ${table}: ${title}`,
    advice,
  }));
}

const ROW_WORDS: ReadonlySet<string> = keywordSet("INSERT UPDATE DELETE SELECT WITH VALUES");

function isRowStatement(reader: StatementReader): boolean {
  return reader.isOneOf(0, ROW_WORDS);
}

const SERVER_WIDE: ReadonlySet<string> = new Set(["DATABASE", "TABLESPACE", "SUBSCRIPTION"]);

/**
 * Checks for statements that PostgreSQL rejects in a transaction, and ALTER TYPE ADD VALUE, whose
 * value cannot be used in the same one. Source: PostgreSQL 18, pages of the commands and
 * PreventInTransactionBlock in utility.c.
 */
function runsAlone(reader: StatementReader): boolean {
  if (reader.is(0, "ALTER", "TYPE")) return reader.is(reader.nameEnd(2), "ADD", "VALUE");
  return cannotShare(reader);
}

function cannotShare(reader: StatementReader): boolean {
  if (reader.is(0, "VACUUM") || reader.is(0, "ALTER", "SYSTEM")) return true;
  if (reader.is(0, "CLUSTER") && reader.size <= 2) return true;
  if ((reader.is(0, "CREATE") || reader.is(0, "DROP")) && reader.isOneOf(1, SERVER_WIDE)) {
    return true;
  }
  if (reader.is(0, "REINDEX") && ["DATABASE", "SYSTEM"].includes(reader.key(1))) return true;
  const isIndex = reader.is(0, "REINDEX") || reader.is(0, "DROP", "INDEX") ||
    reader.is(0, "CREATE", "INDEX") ||
    reader.is(0, "CREATE", "UNIQUE", "INDEX");
  if (isIndex) return reader.find("CONCURRENTLY", 1) >= 0;
  return reader.is(0, "ALTER", "TABLE") && reader.find("CONCURRENTLY", 2) >= 0;
}
