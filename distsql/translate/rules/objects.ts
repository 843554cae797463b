import { getName, readName } from "../../../sql/sql_name.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import type { StatementTranslation } from "../context/translation.ts";
import { translateType } from "./column_type.ts";
import { normalizeCache } from "./identity.ts";

/** Translates CREATE and ALTER SEQUENCE: type bigint, with an accepted CACHE. */
export function translateSequence(reader: StatementReader, t: StatementTranslation): void {
  const edits = new TokenEdits(reader);
  const isCreate = reader.key(0) === "CREATE";
  if (reader.is(1, "TEMP") || reader.is(1, "TEMPORARY")) {
    return t.refuse("create-table-temporary", "a temporary sequence");
  }
  if (reader.is(1, "UNLOGGED")) {
    edits.remove(1, 2);
    t.warn("create-table-unlogged");
  }
  const nameAt = reader.find("SEQUENCE", 1) + 1;
  const name = readName(
    reader,
    reader.skip(reader.skip(nameAt, "IF", "NOT", "EXISTS"), "IF", "EXISTS"),
  );
  for (let at = name.end; at < reader.size; at++) {
    if (reader.key(at) !== "AS") continue;
    if (["bigint", "int8"].includes(readName(reader, at + 1).name)) break;
    edits.replace(at + 1, reader.nameEnd(at + 1), "bigint");
    t.warn("sequence-type");
  }
  const hasCache = normalizeCache(edits, name.end, reader.size, "sequence-cache", t);
  if (isCreate && !hasCache) {
    edits.insertAfter(reader.size - 1, ` CACHE ${t.options.identityCache}`);
    t.apply("sequence-cache");
  }
  t.emit(edits.apply());
}

/** Rejects CREATE TYPE; with the option `enums`, enums are handled before. */
export function translateCreateType(reader: StatementReader, t: StatementTranslation): void {
  const name = readName(reader, 2);
  const isEnum = reader.is(name.end, "AS", "ENUM", "(");
  t.refuse("create-type", isEnum ? "an enum" : "CREATE TYPE", name.path);
}

/** Keeps CREATE DOMAIN. */
export function translateCreateDomain(reader: StatementReader, t: StatementTranslation): void {
  const name = readName(reader, 2);
  const typeFrom = reader.skip(name.end, "AS");
  const constraints = new Set(["CONSTRAINT", "NOT", "NULL", "CHECK", "DEFAULT", "COLLATE"]);
  const typeTo = reader.findEnd(constraints, typeFrom);
  const before = t.refusals.length;
  const type = translateType(reader, typeFrom, typeTo, t);
  if (type.isSerial) t.refuse("type-unsupported", "a domain of a serial type");
  if (t.refusals.length > before) return;
  const edits = new TokenEdits(reader);
  if (type.replacement) edits.replace(typeFrom, typeTo, type.replacement);
  t.emit(edits.apply());
}

/** Translates ALTER and DROP of a domain. */
export function translateDomainChange(reader: StatementReader, t: StatementTranslation): void {
  const at = readName(reader, reader.skip(2, "IF", "EXISTS")).end;
  const isRefused = reader.key(0) === "DROP"
    ? reader.is(reader.size - 1, "CASCADE")
    : reader.is(at, "SET", "NOT", "NULL") || reader.is(at, "ADD") || reader.is(at, "VALIDATE");
  if (isRefused) return t.refuse("alter-domain", `${reader.key(0)} DOMAIN`);
  t.emit(reader.source);
}

/** Keeps CREATE FUNCTION in SQL, rejects other languages. */
export function translateCreateFunction(reader: StatementReader, t: StatementTranslation): void {
  const at = reader.find("LANGUAGE", 1);
  const token = at < 0 ? undefined : reader.token(at + 1);
  if (token !== undefined) {
    const language = token.kind === "string"
      ? token.text.replaceAll("'", "").toLowerCase()
      : getName(token);
    if (language !== "sql") return t.refuse("function-language", `a function in ${language}`);
  }
  t.emit(reader.source);
}

const FUNCTION_CHANGES: ReadonlySet<string> = new Set(["RENAME", "OWNER"]);

/** Translates ALTER FUNCTION: name, owner and schema can change, properties cannot. */
export function translateAlterFunction(reader: StatementReader, t: StatementTranslation): void {
  const { end } = readName(reader, 2);
  const at = reader.key(end) === "(" ? reader.next(end) : end;
  if (reader.isOneOf(at, FUNCTION_CHANGES) || reader.is(at, "SET", "SCHEMA")) {
    return t.emit(reader.source);
  }
  t.refuse("function-properties", `${reader.key(0)} ${reader.key(1)} … ${reader.key(at)}`);
}

/** Keeps CREATE VIEW, unless it is temporary. */
export function translateCreateView(reader: StatementReader, t: StatementTranslation): void {
  const view = reader.find("VIEW", 1);
  for (let at = 1; at < view; at++) {
    if (reader.is(at, "TEMP") || reader.is(at, "TEMPORARY")) {
      return t.refuse("create-table-temporary", "a temporary view");
    }
  }
  t.emit(reader.source);
}

/** Keeps CREATE SCHEMA without elements. */
export function translateCreateSchema(reader: StatementReader, t: StatementTranslation): void {
  for (let at = 2; at < reader.size; at++) {
    if (reader.is(at, "CREATE") || reader.is(at, "GRANT")) {
      return t.refuse("create-schema-elements", "CREATE SCHEMA with objects");
    }
  }
  t.emit(reader.source);
}

/** Translates DROP INDEX: omits CONCURRENTLY. */
export function translateDropIndex(reader: StatementReader, t: StatementTranslation): void {
  const edits = new TokenEdits(reader);
  if (reader.key(2) === "CONCURRENTLY") {
    edits.remove(2, 3);
    t.apply("drop-index-concurrently");
  }
  t.emit(edits.apply());
}

/** Translates ALTER INDEX: keeps names, omits storage. */
export function translateAlterIndex(reader: StatementReader, t: StatementTranslation): void {
  const at = readName(reader, reader.skip(2, "IF", "EXISTS")).end;
  if (reader.key(at) === "RENAME") return t.emit(reader.source);
  if (reader.key(at) === "ATTACH") return t.refuse("table-inheritance", "ATTACH PARTITION");
  t.warn("index-settings");
}
