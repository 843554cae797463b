import type { StatementReader } from "../statement_reader.ts";
import { TokenEdits } from "../token_edits.ts";
import type { StatementTranslation } from "../translation.ts";

/** Settings that pg_dump writes and that mean nothing here, in lower case. */
const DUMP_SETTINGS: ReadonlySet<string> = new Set([
  ...["xmloption", "row_security", "default_tablespace", "default_table_access_method", "check_function_bodies"],
  ...["default_with_oids"],
]);

/** BEGIN and START TRANSACTION: another isolation level than the one there is goes. */
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

/** Statements that start and end transactions. */
export function translateTransaction(reader: StatementReader, t: StatementTranslation): void {
  const key = reader.key(0);
  const second = reader.key(1);
  const toSavepoint = key === "ROLLBACK" && (second === "TO" || reader.is(2, "TO"));
  if (key === "SAVEPOINT" || key === "RELEASE" || toSavepoint) return t.refuse("savepoint", key);
  if (second === "PREPARED") return t.refuse("two-phase-commit", `${key} PREPARED`);
  if (t.scope.statementCount > 1) {
    if (t.scope.rollsBack) return t.refuse("transaction-rollback", key);
    return t.warn("transaction-block");
  }
  if (key === "BEGIN" || key === "START") return translateBegin(reader, t);
  t.emit(reader.tokens.map((token) => token.text).join(""));
}

/** SET and RESET. */
export function translateSet(reader: StatementReader, t: StatementTranslation): void {
  const scope = ["SESSION", "LOCAL"].includes(reader.key(1)) ? 2 : 1;
  const name = reader.token(scope)?.text.toLowerCase() ?? "";
  const isTransaction = reader.is(1, "TRANSACTION") || reader.is(scope, "TRANSACTION") ||
    reader.is(1, "SESSION", "CHARACTERISTICS");
  if (isTransaction || /^"?default_transaction_/.test(name)) return t.warn("set-transaction");
  if (name === "role" || reader.is(1, "SESSION", "AUTHORIZATION") || reader.is(2, "SESSION", "AUTHORIZATION")) {
    return t.refuse("set-role", "SET ROLE");
  }
  if (DUMP_SETTINGS.has(name)) return t.apply("dump-settings");
  t.emit(reader.tokens.map((token) => token.text).join(""));
}

/** ANALYZE of tables stays, of everything not. */
export function translateAnalyze(reader: StatementReader, t: StatementTranslation): void {
  let at = reader.skip(1, "VERBOSE");
  if (reader.key(at) === "(") at = reader.next(at);
  if (at >= reader.size) return t.warn("maintenance");
  t.emit(reader.tokens.map((token) => token.text).join(""));
}

/** COPY over the connection stays; files, programs and rows in the text are refused. */
export function translateCopy(reader: StatementReader, t: StatementTranslation): void {
  const direction = reader.find(new Set(["FROM", "TO"]), 1);
  const isConnection = reader.is(direction + 1, "STDIN") || reader.is(direction + 1, "STDOUT");
  if (direction < 0 || !isConnection) return t.refuse("copy", "COPY with a file or a program");
  t.emit(reader.tokens.map((token) => token.text).join(""));
}

/** psql's own lines: those of pg_dump go, rows of COPY and other commands are refused. */
export function translatePsql(text: string, t: StatementTranslation): void {
  if (/^\\(?:un)?restrict\b/.test(text)) t.apply("dump-settings");
  else if (text.startsWith("\\")) t.refuse("psql-command", "a psql command");
  else t.refuse("copy", "COPY with its rows in the text");
}
