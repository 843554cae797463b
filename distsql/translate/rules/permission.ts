import { readName } from "../../../sql/sql_name.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import type { StatementTranslation } from "../context/translation.ts";
import { keywordSet } from "../../../sql/list_words.ts";

/** Role options with their default value. */
const DEFAULT_OPTIONS: ReadonlySet<string> = keywordSet(`
  NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS INHERIT
`);

/** System schemas, on which no privileges can be granted. */
const SYSTEM_SCHEMAS: ReadonlySet<string> = new Set(["public", "pg_catalog", "sys"]);

/** Checks for the name of a system schema at a position. */
export function isSystemSchema(reader: StatementReader, at: number): boolean {
  return SYSTEM_SCHEMAS.has(readName(reader, at).name);
}

/**
 * Warns about a grant or revoke on a system schema, which the provider does not support. Every role
 * can use it, and only admin can create objects in it. A privilege that cannot be revoked must not
 * be reported as revoked.
 */
function noteSystemSchema(reader: StatementReader, on: number, t: StatementTranslation): void {
  const first = reader.skip(1, "GRANT", "OPTION", "FOR");
  const isCreate = reader.is(first, "CREATE") && first + 1 === on;
  const isUsage = reader.is(first, "USAGE") && first + 1 === on;
  if (reader.key(0) === "GRANT") {
    isUsage ? t.apply("grant-schema-public") : t.warn("grant-schema-public");
  } else if (isCreate) t.warn("grant-schema-public");
  else t.refuse("revoke-schema-public", "REVOKE of USAGE on a schema of the system");
}

/** Translates GRANT and REVOKE: omits system schemas. */
export function translateGrant(reader: StatementReader, t: StatementTranslation): void {
  const on = reader.find("ON", 1);
  if (on < 0 || reader.key(on + 1) !== "SCHEMA") return t.emit(reader.source);
  const end = reader.findEnd(new Set(["TO", "FROM"]), on);
  const schemas = reader.list(on + 2, end);
  const others = schemas.filter(([from]) => !isSystemSchema(reader, from));
  if (others.length === schemas.length) return t.emit(reader.source);
  noteSystemSchema(reader, on, t);
  if (others.length === 0) return;
  const edits = new TokenEdits(reader);
  edits.replace(on + 2, end, others.map(([from, to]) => reader.text(from, to)).join(", "));
  t.emit(edits.apply());
}

/** Rejects CREATE, ALTER and DROP of a system schema. */
export function refusesSystemSchema(reader: StatementReader, t: StatementTranslation): boolean {
  const at = reader.skip(2, "IF", "EXISTS");
  const names = reader.key(0) === "DROP" ? reader.list(at, reader.droppedEnd()) : [[at, at + 1]];
  if (!names.some(([from]) => isSystemSchema(reader, from))) return false;
  t.refuse("system-schema", `${reader.key(0)} SCHEMA of a system schema`);
  return true;
}

/**
 * Translates CREATE ROLE, USER and GROUP, and ALTER ROLE: LOGIN is the only role option, and can
 * only be set at creation.
 */
export function translateRole(reader: StatementReader, t: StatementTranslation): void {
  const edits = new TokenEdits(reader);
  if (reader.key(1) === "USER" || reader.key(1) === "GROUP") {
    edits.replace(1, 2, "ROLE");
    t.apply("role-options");
  }
  if (reader.key(0) === "ALTER") alterRole(reader, edits, t);
  else createRole(reader, edits, t);
}

function alterRole(reader: StatementReader, edits: TokenEdits, t: StatementTranslation): void {
  const { end } = readName(reader, 2);
  if (reader.is(end, "RENAME") || reader.is(end, "RESET")) return t.emit(edits.apply());
  if (reader.is(end, "SET") || reader.is(end, "IN")) {
    return t.refuse("role-settings", "ALTER ROLE with SET or IN DATABASE");
  }
  for (let at = reader.skip(end, "WITH"); at < reader.size; at++) {
    if (!reader.isOneOf(at, DEFAULT_OPTIONS)) return t.refuse("role-alter", roleOption(reader, at));
  }
  t.apply("role-options");
}

function createRole(reader: StatementReader, edits: TokenEdits, t: StatementTranslation): void {
  const { end } = readName(reader, 2);
  let hasLogin = false;
  const optionsFrom = reader.skip(end, "WITH");
  for (let at = optionsFrom; at < reader.size; at++) {
    if (reader.is(at, "LOGIN") || reader.is(at, "NOLOGIN")) hasLogin = true;
    else if (reader.isOneOf(at, DEFAULT_OPTIONS)) {
      edits.remove(at, at + 1);
      t.apply("role-options");
    } else if (reader.is(at, "PASSWORD", "NULL")) {
      edits.remove(at, at + 2);
      t.apply("role-options");
      at++;
    } else if (isMembership(reader, at)) at = membersEnd(reader, at) - 1;
    else return t.refuse("role-password", roleOption(reader, at));
  }
  if (reader.key(1) === "USER" && !hasLogin) {
    edits.insertAfter(reader.size - 1, optionsFrom > end ? " LOGIN" : " WITH LOGIN");
  }
  t.emit(edits.apply());
}

/** Checks for a list of roles: IN ROLE, IN GROUP, ROLE, USER, ADMIN. */
function isMembership(reader: StatementReader, at: number): boolean {
  return reader.is(at, "IN", "ROLE") || reader.is(at, "IN", "GROUP") ||
    ["ROLE", "USER", "ADMIN"].includes(reader.key(at));
}

function membersEnd(reader: StatementReader, at: number): number {
  let end = reader.nameEnd(reader.is(at, "IN") ? at + 2 : at + 1);
  while (reader.is(end, ",")) end = reader.nameEnd(end + 1);
  return end;
}

/** Translates DROP GROUP to DROP ROLE. */
export function translateDropGroup(reader: StatementReader, t: StatementTranslation): void {
  const edits = new TokenEdits(reader);
  edits.replace(1, 2, "ROLE");
  t.apply("role-options");
  t.emit(edits.apply());
}

/** Returns an option's keyword for messages; its value may be a secret. */
function roleOption(reader: StatementReader, at: number): string {
  return reader.token(at)?.kind === "word" ? `the option ${reader.key(at)}` : "an option";
}
