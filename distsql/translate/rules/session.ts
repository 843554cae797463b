import type { StatementReader } from "../../../sql/statement_reader.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import { readTransactionControl } from "../../../sql/transaction_blocks.ts";
import type { StatementTranslation } from "../context/translation.ts";
import { keywordSet } from "../../../sql/list_words.ts";

/** Settings written by pg_dump that have no effect here, in lower case. */
const DUMP_SETTINGS: ReadonlySet<string> = keywordSet(`
  xmloption row_security default_tablespace default_table_access_method check_function_bodies
  default_with_oids
`);

/** Translates BEGIN and START TRANSACTION: omits other isolation levels. */
function translateBegin(reader: StatementReader, t: StatementTranslation): void {
  const edits = new TokenEdits(reader);
  const modes = reader.find(new Set(["ISOLATION", "READ", "DEFERRABLE", "NOT"]), 1);
  for (let at = 1; modes >= 0 && at < reader.size; at++) {
    if (!reader.is(at, "ISOLATION", "LEVEL") || reader.is(at + 2, "REPEATABLE", "READ")) continue;
    const end = reader.is(at + 2, "SERIALIZABLE") ? at + 3 : at + 4;
    if (reader.key(end) === ",") edits.remove(at, end + 1);
    else edits.remove(reader.key(at - 1) === "," ? at - 1 : at, end);
    t.warn("isolation-level");
  }
  t.emit(edits.apply());
}

/**
 * Translates transaction control. Within a text, BEGIN and COMMIT must be paired; a single
 * statement is kept.
 */
export function translateTransaction(reader: StatementReader, t: StatementTranslation): void {
  const { statementCount, transactionRefusals } = t.scope;
  const isAlone = statementCount === 1;
  const refusal = isAlone ? refusalOfOne(reader) : transactionRefusals.get(reader.tokens);
  if (refusal !== undefined) return t.refuse(refusal, reader.key(0));
  if (!isAlone) return t.warn("transaction-block");
  if (reader.is(0, "BEGIN") || reader.is(0, "START")) return translateBegin(reader, t);
  t.emit(reader.source);
}

/** Returns the refusal of a transaction statement in a text without other statements. */
function refusalOfOne(reader: StatementReader): string | undefined {
  const [refusal] = readTransactionControl([reader]).refusals.values();
  const chains = refusal === "transaction-modes" && reader.is(reader.size - 1, "CHAIN");
  return chains || refusal === "savepoint" || refusal === "two-phase-commit" ? refusal : undefined;
}

const TRANSACTION_SETTING = /^"?(?:default_)?transaction_(?:isolation|read_only|deferrable)"?$/;

/** Translates transaction modes: the isolation level is fixed, so SERIALIZABLE is rejected. */
function translateModes(reader: StatementReader, t: StatementTranslation): void {
  for (let at = 1; at < reader.size; at++) {
    const word = reader.token(at)!.text.toLowerCase();
    if (word === "serializable" || word === "'serializable'" || word === "snapshot") {
      const what = `${reader.key(0)} ${reader.key(1)} with ${word.toUpperCase()}`;
      return t.refuse("isolation-serializable", what);
    }
  }
  t.warn("set-transaction");
}

/** Checks for a statement that returns to the role of the connection, which is always in effect. */
function isOwnRole(reader: StatementReader, scope: number): boolean {
  if (reader.is(0, "RESET")) {
    return reader.is(1, "ROLE") || reader.is(1, "SESSION", "AUTHORIZATION");
  }
  if (reader.is(scope, "ROLE", "NONE")) return true;
  const at = reader.is(scope, "SESSION") ? scope + 1 : scope;
  return reader.is(at, "AUTHORIZATION", "DEFAULT");
}

/** Translates SET and RESET. */
export function translateSet(reader: StatementReader, t: StatementTranslation): void {
  const scope = ["SESSION", "LOCAL"].includes(reader.key(1)) ? 2 : 1;
  const name = reader.token(scope)?.text.toLowerCase() ?? "";
  const isTransaction = reader.is(1, "TRANSACTION") || reader.is(scope, "TRANSACTION") ||
    reader.is(1, "SESSION", "CHARACTERISTICS");
  if (isTransaction || TRANSACTION_SETTING.test(name)) return translateModes(reader, t);
  if (reader.is(1, "CONSTRAINTS")) return t.refuse("set-constraints", "SET CONSTRAINTS");
  if (isOwnRole(reader, scope)) return t.apply("dump-settings");
  if (
    /^"?role"?$/.test(name) || /^"?session_authorization"?$/.test(name) ||
    reader.is(scope, "AUTHORIZATION") ||
    reader.is(scope, "SESSION", "AUTHORIZATION")
  ) {
    return t.refuse("set-role", "SET ROLE");
  }
  if (DUMP_SETTINGS.has(name)) return t.apply("dump-settings");
  t.emit(reader.source);
}

/** Keeps ANALYZE of tables, omits ANALYZE of the whole database. */
export function translateAnalyze(reader: StatementReader, t: StatementTranslation): void {
  let at = reader.skip(1, "VERBOSE");
  if (reader.key(at) === "(") at = reader.next(at);
  if (at >= reader.size) return t.warn("maintenance");
  t.emit(reader.source);
}

/** Keeps COPY over the connection; rejects files, programs and inline rows. */
export function translateCopy(reader: StatementReader, t: StatementTranslation): void {
  const direction = reader.find(new Set(["FROM", "TO"]), 1);
  const isConnection = reader.is(direction + 1, "STDIN") || reader.is(direction + 1, "STDOUT");
  if (direction < 0 || !isConnection) return t.refuse("copy", "COPY with a file or a program");
  t.emit(reader.source);
}

/** Translates lines of psql: omits those of pg_dump, rejects COPY rows and other commands. */
export function translatePsql(text: string, t: StatementTranslation): void {
  if (/^\\(?:un)?restrict\b/.test(text)) t.apply("dump-settings");
  else if (text.startsWith("\\")) t.refuse("psql-command", "a psql command");
  else t.refuse("copy", "COPY with inline rows");
}
