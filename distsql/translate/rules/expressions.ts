import { getName, readName } from "../../../sql/sql_name.ts";
import { parseStatement, type StatementReader } from "../../../sql/statement_reader.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import type { StatementTranslation } from "../context/translation.ts";
import { keywordSet } from "../../../sql/list_words.ts";
import { findObject, type ObjectName } from "../../schema/declared_schema.ts";
import { isBuiltInType, isExtensionType } from "./column_type.ts";

const UUID_RANDOM: ReadonlySet<string> = new Set(["uuid_generate_v4", "uuidv4"]);
const UUID_OTHERS: ReadonlySet<string> = keywordSet(
  "uuid_generate_v1 uuid_generate_v1mc uuid_generate_v3 uuid_generate_v5 uuidv7",
);
const TEXT_SEARCH: ReadonlySet<string> = keywordSet(`
  to_tsvector to_tsquery plainto_tsquery phraseto_tsquery websearch_to_tsquery ts_headline
  json_to_tsvector jsonb_to_tsvector
`);
/** Collations with the order of the database. */
const SAME_ORDER: ReadonlySet<string> = new Set(["C", "POSIX", "ucs_basic", "default", "c"]);

/**
 * Functions of commonly used extensions, which do not exist on the provider: pgcrypto, pg_trgm,
 * fuzzystrmatch, unaccent, tablefunc, hstore, earthdistance, dblink, vector.
 */
const FUNCTIONS: ReadonlySet<string> = keywordSet(`
  crypt gen_salt gen_random_bytes digest hmac pgp_sym_encrypt pgp_sym_decrypt pgp_pub_encrypt
  pgp_pub_decrypt armor dearmor
  similarity word_similarity strict_word_similarity show_trgm
  levenshtein soundex metaphone dmetaphone daitch_mokotoff unaccent
  crosstab connectby normal_rand hstore akeys avals earth_distance ll_to_earth earth_box
  dblink dblink_exec l2_distance cosine_distance inner_product vector_dims l2_normalize
`);

/**
 * Checks for a function of an extension.
 *
 * @param name Name of the function, without its schema.
 */
function isExtensionFunction(name: string): boolean {
  return FUNCTIONS.has(name) || /^st_[a-z]/.test(name); // PostGIS
}

/** Schemas whose types always exist. */
const SYSTEM_SCHEMAS: ReadonlySet<string> = new Set(["pg_catalog", "information_schema"]);

/**
 * Returns the position of the type in `CAST (value AS type)` by its opening parenthesis; else -1.
 */
export function castTypeAt(reader: StatementReader, open: number): number {
  let as = -1;
  for (let at = open + 1; at < reader.closing(open); at = reader.next(at)) {
    if (reader.is(at, "AS")) as = at;
  }
  return as < 0 ? -1 : as + 1;
}

/**
 * Checks whether the provider has a type: built in, as a domain, or as the row type of a table or
 * view.
 */
function hasType(reader: StatementReader, at: number, t: StatementTranslation): boolean {
  const written = readName(reader, at);
  const { schema, name } = written;
  if (schema !== undefined && SYSTEM_SCHEMAS.has(schema)) return true;
  if (schema === undefined && isBuiltInType(name)) return true;
  const { domains, tables, views, enums } = t.scope.declared;
  const objects: readonly ReadonlyMap<string, ObjectName>[] = [domains, tables, views, enums];
  return objects.some((map) => findObject(map, written) !== undefined);
}

/**
 * Rejects a cast to a type that does not exist on the provider. A type that no file declares may
 * belong to an extension or the application.
 *
 * @param reader The statement.
 * @param at Position of `::` or CAST.
 * @param t Receives the refusal.
 */
function checkCast(reader: StatementReader, at: number, t: StatementTranslation): void {
  const typeAt = reader.key(at) === "::" ? at + 1 : castTypeAt(reader, at + 1);
  if (typeAt < 0 || !reader.isName(typeAt) || hasType(reader, typeAt, t)) return;
  const type = reader.text(typeAt, reader.nameEnd(typeAt));
  const id = isExtensionType(readName(reader, typeAt).name)
    ? "type-extension"
    : "type-user-defined";
  t.refuse(id, `a cast to ${type}`, type);
}

/**
 * Checks whether a call uses the text search configuration `simple`: `to_tsvector('simple', …)`.
 */
function isSimple(reader: StatementReader, open: number): boolean {
  const argument = reader.token(open + 1);
  const isFirstOfSeveral = reader.key(open + 2) === "," || reader.key(open + 2) === "::";
  return argument?.kind === "string" && isFirstOfSeveral &&
    /^'(?:pg_catalog\.)?simple'$/i.test(argument.text);
}

/** Translates a call: renames or rejects functions that do not exist. */
function translateCall(edits: TokenEdits, at: number, end: number, t: StatementTranslation): void {
  const { reader } = edits;
  const name = getName(reader.token(end - 1)!);
  const isQualified = end - at > 1;
  const isPgcrypto = name === "gen_random_uuid" && isQualified &&
    getName(reader.token(at)!) !== "pg_catalog";
  if (UUID_RANDOM.has(name) || isPgcrypto) {
    if (reader.key(end + 1) !== ")") return; // a table name with its columns
    edits.replace(at, end, "gen_random_uuid");
    t.apply("uuid-function");
  } else if (UUID_OTHERS.has(name)) t.refuse("uuid-function-unsupported", `${name}()`);
  else if (/^pg_(?:try_)?advisory_/.test(name)) t.refuse("advisory-lock", `${name}()`);
  else if (isExtensionFunction(name)) t.refuse("extension-function", `${name}()`);
  else if (TEXT_SEARCH.has(name) && !isSimple(reader, end)) {
    t.refuse("text-search", `${name}() without the configuration simple`);
  }
}

/** Removes a COLLATE clause from a definition; in a query it is kept with a warning. */
function translateCollation(
  edits: TokenEdits,
  at: number,
  isDefinition: boolean,
  t: StatementTranslation,
): void {
  const collation = readName(edits.reader, at + 1);
  if (!isDefinition) return t.warn("collation");
  edits.remove(at, collation.end);
  if (SAME_ORDER.has(collation.name)) t.apply("collation");
  else t.warn("collation");
}

/**
 * Translates expressions in any statement: functions, and COLLATE in definitions.
 *
 * @param reader The statement.
 * @param isDefinition True if it defines a table, an index or a domain.
 * @param t Receives rules and refusals.
 * @returns The statement itself, or the changed one.
 */
export function translateExpressions(
  reader: StatementReader,
  isDefinition: boolean,
  t: StatementTranslation,
): StatementReader {
  const edits = new TokenEdits(reader);
  for (let at = 0; at < reader.size;) {
    const isAttribute = reader.key(at - 1) === ".";
    if (reader.key(at) === "COLLATE" && !isAttribute) {
      translateCollation(edits, at, isDefinition, t);
    }
    const end = isAttribute ? at : reader.nameEnd(at);
    if (reader.key(at) === "::" || reader.is(at, "CAST", "(")) checkCast(reader, at, t);
    if (end > at && reader.key(end) === "(") translateCall(edits, at, end, t);
    at = Math.max(end, at + 1);
  }
  return edits.isEmpty ? reader : parseStatement(edits.apply());
}
