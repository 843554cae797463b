import { SERIAL } from "../../syntax/column_definition.ts";
import type { WrittenName } from "../../schema/read_object.ts";
import { readName } from "../../../sql/sql_name.ts";
import { type DeclaredDomain, findObject } from "../../schema/declared_schema.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import type { StatementTranslation } from "../context/translation.ts";
import { keywordSet, listWords } from "../../../sql/list_words.ts";

const JSON_TYPES: ReadonlySet<string> = new Set(["json", "jsonb"]);
const NUMERIC: ReadonlySet<string> = new Set(["numeric", "decimal", "dec"]);
const SMALL_INTEGERS: ReadonlySet<string> = new Set(["smallint", "int2", "int", "integer", "int4"]);

/** First words of the types that can be stored (supported data types, read October 2026). */
const STORABLE: ReadonlySet<string> = new Set([
  ...SMALL_INTEGERS,
  ...NUMERIC,
  ...JSON_TYPES,
  ...listWords("bigint int8 real float4 double float8 float"),
  ...listWords("char character nchar national bpchar varchar text"),
  ...listWords("date time timetz timestamp timestamptz interval boolean bool bytea uuid"),
]);

/** PostgreSQL's built-in types that cannot be stored. */
const BUILT_IN: ReadonlySet<string> = keywordSet(`
  money xml inet cidr macaddr macaddr8 bit varbit pg_lsn jsonpath name oid point line
  lseg box path polygon circle tsvector tsquery refcursor xid xid8 int4range int8range
  numrange tsrange tstzrange daterange int4multirange int8multirange nummultirange
  tsmultirange tstzmultirange datemultirange txid_snapshot pg_snapshot cid tid
  regclass regtype regproc regprocedure regrole regnamespace regconfig regdictionary
`);

const OF_EXTENSIONS: ReadonlySet<string> = keywordSet(`
  vector halfvec sparsevec citext hstore geometry geography ltree lquery cube seg isbn
  isbn13 issn ean13 upc semver
`);

/** Types that only occur in expressions, and first words of other spellings. */
const OTHERS: ReadonlySet<string> = keywordSet(`
  record unknown cstring void anyelement anyarray aclitem int2vector oidvector setof
`);

/** Checks by its first word whether a type can be used in expressions without a declaration. */
export function isBuiltInType(name: string): boolean {
  return STORABLE.has(name) || BUILT_IN.has(name) || OTHERS.has(name) ||
    /^(?:pg_|reg|_)/.test(name);
}

/** Checks for a type of an extension. */
export function isExtensionType(name: string): boolean {
  return OF_EXTENSIONS.has(name);
}

/** Checks for json and jsonb, which cannot be keys. */
export function isJsonType(type: string): boolean {
  return /^(?:pg_catalog\s*\.\s*)?"?jsonb?"?$/i.test(type.trim());
}

const MAX_VARCHAR = 65_535;
const MAX_CHAR = 4_096;
const MAX_DIGITS_BEFORE_WIDE_NUMERIC = 38;

/** Translation of a column's type. */
export interface ColumnType {
  /** Replacement; omitted if the type is kept. */
  readonly replacement?: string;
  /** True for a serial type, which implies an identity. */
  readonly isSerial?: boolean;
  /** True for an integer type that is too small for an identity. */
  readonly isSmallInteger?: boolean;
  /** True for json and jsonb, which cannot be keys. */
  readonly isJson?: boolean;
  /** True for numeric, which could not be a key in earlier versions. */
  readonly isNumeric?: boolean;
  /** Domain of the column. */
  readonly domain?: DeclaredDomain;
  /** Folded name of the type. */
  readonly name: string;
}

/** Returns the number after the type's name: `varchar(20)`, `character varying(20)`. */
function getSize(reader: StatementReader, from: number, to: number): number | undefined {
  for (let at = from; at < to; at++) {
    if (reader.key(at) === "(") return Number(reader.token(at + 1)?.text.replaceAll("_", ""));
  }
  return undefined;
}

function numericType(
  reader: StatementReader,
  from: number,
  to: number,
  t: StatementTranslation,
): ColumnType {
  const type = { name: "numeric", isNumeric: true };
  const digits = getSize(reader, from, to);
  if (digits === undefined) {
    const { numeric } = t.options;
    if (!numeric) t.warn("numeric-precision");
    else {
      t.apply("numeric-precision");
      return { ...type, replacement: `numeric(${numeric.precision}, ${numeric.scale})` };
    }
  } else if (digits > MAX_DIGITS_BEFORE_WIDE_NUMERIC && !t.can("numeric_keys")) {
    t.refuse("numeric-digits");
  }
  return type;
}

function storableType(
  reader: StatementReader,
  name: string,
  from: number,
  to: number,
  t: StatementTranslation,
): ColumnType {
  if (NUMERIC.has(name)) return numericType(reader, from, to, t);
  if (JSON_TYPES.has(name)) {
    if (t.can("json_columns")) return { name, isJson: true };
    t.warn("type-json-as-text");
    return { name, replacement: "text" };
  }
  const size = getSize(reader, from, to);
  if (size !== undefined && /char|national/.test(name)) {
    const isVarying = name === "varchar" || reader.find("VARYING", from, to) >= 0;
    if (size > (isVarying ? MAX_VARCHAR : MAX_CHAR)) t.refuse("type-length");
  }
  return { name, isSmallInteger: SMALL_INTEGERS.has(name) };
}

/**
 * Translates the type of a column: rejects types that cannot be stored, and rewrites other
 * spellings.
 *
 * @param reader The statement.
 * @param from Start of the type.
 * @param to End of the type.
 * @param t Receives refusals and warnings.
 * @param column Name of the column, for messages.
 * @returns The translated type.
 */
export function translateType(
  reader: StatementReader,
  from: number,
  to: number,
  t: StatementTranslation,
  column?: string,
): ColumnType {
  const { name, schema, path, end } = readName(reader, from);
  const refuse = (id: string, type: string): void =>
    t.refuse(id, column === undefined ? `type ${type}` : `column ${column} of type ${type}`, type);
  for (let at = from; at < to; at++) {
    if (reader.key(at) === "[" || (at > from && reader.key(at) === "ARRAY")) {
      refuse("type-array", reader.text(from, to));
      return { name };
    }
  }
  const isBuiltIn = schema === undefined || schema === "pg_catalog";
  const isInternalChar = reader.token(from)?.kind === "quoted" && name === "char";
  if (isBuiltIn && SERIAL.has(name)) {
    if (!t.can("sequences")) t.refuse("type-serial-unsupported");
    return { name, isSerial: true };
  }
  if (isBuiltIn && STORABLE.has(name) && !isInternalChar) {
    return storableType(reader, name, end - 1, to, t);
  }
  if (isBuiltIn && (BUILT_IN.has(name) || isInternalChar)) refuse("type-unsupported", name);
  else if (OF_EXTENSIONS.has(name)) refuse("type-extension", name);
  else return ownType({ schema, name }, path, t, refuse);
  return { name };
}

function ownType(
  { schema, name }: WrittenName,
  path: string,
  t: StatementTranslation,
  refuse: (id: string, type: string) => void,
): ColumnType {
  const domain = findObject(t.scope.declared.domains, { schema, name });
  if (domain === undefined) refuse("type-user-defined", path);
  return { name, isJson: domain && isJsonType(domain.type), domain };
}
