import { readName } from "../sql_name.ts";
import type { StatementReader } from "../statement_reader.ts";
import { TokenEdits } from "../token_edits.ts";
import type { StatementTranslation } from "../translation.ts";

/** Options that say what holds anyway. */
const DEFAULT_OPTIONS: ReadonlySet<string> = new Set([
  ...["NOSUPERUSER", "NOCREATEDB", "NOCREATEROLE", "NOREPLICATION", "NOBYPASSRLS", "INHERIT"],
]);

function originalText(reader: StatementReader): string {
  return reader.tokens.map((token) => token.text).join("");
}

/** GRANT and REVOKE: what names schema public goes. */
export function translateGrant(reader: StatementReader, t: StatementTranslation): void {
  const on = reader.find(new Set(["ON"]), 1);
  if (on < 0 || reader.key(on + 1) !== "SCHEMA") return t.emit(originalText(reader));
  const end = reader.find(new Set(["TO", "FROM"]), on);
  const schemas = reader.list(on + 2, end < 0 ? reader.size : end);
  const isPublic = ([from]: [number, number]): boolean => readName(reader, from).name === "public";
  const others = schemas.filter((range) => !isPublic(range));
  if (others.length === schemas.length) return t.emit(originalText(reader));
  if (reader.key(0) === "REVOKE") t.warn("grant-schema-public");
  else t.apply("grant-schema-public");
  if (others.length === 0) return;
  const edits = new TokenEdits(reader);
  edits.replace(on + 2, end, others.map(([from, to]) => reader.text(from, to)).join(", "));
  t.emit(edits.apply());
}

/** CREATE ROLE, CREATE USER and ALTER ROLE: LOGIN is the one option that a role has. */
export function translateRole(reader: StatementReader, t: StatementTranslation): void {
  const isUser = reader.key(1) === "USER";
  const edits = new TokenEdits(reader);
  const name = readName(reader, 2);
  if (isUser) {
    edits.replace(1, 2, "ROLE");
    t.apply("role-options");
  }
  const isOther = ["RENAME", "SET", "RESET", "IN"].includes(reader.key(name.end));
  if (reader.key(0) === "ALTER" && isOther) return t.emit(originalText(reader));
  let hasLogin = false;
  const optionsFrom = reader.skip(name.end, "WITH");
  let at = optionsFrom;
  for (; at < reader.size; at++) {
    if (reader.is(at, "LOGIN") || reader.is(at, "NOLOGIN")) hasLogin = true;
    else if (reader.isOneOf(at, DEFAULT_OPTIONS)) {
      edits.remove(at, at + 1);
      t.apply("role-options");
    } else if (reader.is(at, "PASSWORD", "NULL")) {
      edits.remove(at, at + 2);
      t.apply("role-options");
      at++;
    } else return t.refuse("role-password", roleOption(reader, at));
  }
  if (isUser && !hasLogin && reader.key(0) === "CREATE") {
    edits.insertAfter(reader.size - 1, optionsFrom > name.end ? " LOGIN" : " WITH LOGIN");
  }
  t.emit(edits.apply());
}

/** Names an option by its keyword: what follows may be a secret. */
function roleOption(reader: StatementReader, at: number): string {
  return reader.token(at)?.kind === "word" ? `the option ${reader.key(at)}` : "an option";
}
