import { readName } from "../sql_name.ts";
import { type DeclaredDomain, findObject } from "../declared/declared_schema.ts";
import type { StatementReader } from "../statement_reader.ts";
import type { StatementTranslation } from "../translation.ts";

const SERIAL: ReadonlySet<string> = new Set([
  "serial",
  "serial2",
  "serial4",
  "serial8",
  "smallserial",
  "bigserial",
]);
const JSON_TYPES: ReadonlySet<string> = new Set(["json", "jsonb"]);
const NUMERIC: ReadonlySet<string> = new Set(["numeric", "decimal", "dec"]);
const SMALL_INTEGERS: ReadonlySet<string> = new Set(["smallint", "int2", "int", "integer", "int4"]);

/** First words of the types that can be stored (supported data types, read October 2026). */
const STORABLE: ReadonlySet<string> = new Set([
  ...SMALL_INTEGERS,
  ...NUMERIC,
  ...JSON_TYPES,
  ...["bigint", "int8", "real", "float4", "double", "float8", "float"],
  ...["char", "character", "nchar", "national", "bpchar", "varchar", "text"],
  ...[
    "date",
    "time",
    "timetz",
    "timestamp",
    "timestamptz",
    "interval",
    "boolean",
    "bool",
    "bytea",
    "uuid",
  ],
]);

/** Types of PostgreSQL itself that cannot be stored. */
const BUILT_IN: ReadonlySet<string> = new Set([
  ...[
    "money",
    "xml",
    "inet",
    "cidr",
    "macaddr",
    "macaddr8",
    "bit",
    "varbit",
    "pg_lsn",
    "jsonpath",
    "name",
    "oid",
  ],
  ...[
    "point",
    "line",
    "lseg",
    "box",
    "path",
    "polygon",
    "circle",
    "tsvector",
    "tsquery",
    "refcursor",
    "xid",
    "xid8",
  ],
  ...[
    "int4range",
    "int8range",
    "numrange",
    "tsrange",
    "tstzrange",
    "daterange",
    "int4multirange",
    "int8multirange",
  ],
  ...[
    "nummultirange",
    "tsmultirange",
    "tstzmultirange",
    "datemultirange",
    "txid_snapshot",
    "pg_snapshot",
    "cid",
    "tid",
  ],
  ...[
    "regclass",
    "regtype",
    "regproc",
    "regprocedure",
    "regrole",
    "regnamespace",
    "regconfig",
    "regdictionary",
  ],
]);

const OF_EXTENSIONS: ReadonlySet<string> = new Set([
  ...[
    "vector",
    "halfvec",
    "sparsevec",
    "citext",
    "hstore",
    "geometry",
    "geography",
    "ltree",
    "lquery",
    "cube",
    "seg",
  ],
  ...["isbn", "isbn13", "issn", "ean13", "upc", "semver"],
]);

/** Types that only expressions have, and the first words of other spellings. */
const OTHERS: ReadonlySet<string> = new Set([
  ...[
    "record",
    "unknown",
    "cstring",
    "void",
    "anyelement",
    "anyarray",
    "aclitem",
    "int2vector",
    "oidvector",
    "setof",
  ],
]);

/** Whether expressions of the provider know a type without being told, by its first word. */
export function isBuiltInType(name: string): boolean {
  return STORABLE.has(name) || BUILT_IN.has(name) || OTHERS.has(name) ||
    /^(?:pg_|reg|_)/.test(name);
}

/** Whether a type is one of an extension. */
export function isExtensionType(name: string): boolean {
  return OF_EXTENSIONS.has(name);
}

/** Whether a type, as written, is json or jsonb, which no key can have. */
export function isJsonType(type: string): boolean {
  return /^(?:pg_catalog\s*\.\s*)?"?jsonb?"?$/i.test(type.trim());
}

const MAX_VARCHAR = 65_535;
const MAX_CHAR = 4_096;
const MAX_DIGITS_BEFORE_WIDE_NUMERIC = 38;

/** What a column's type becomes. */
export interface ColumnType {
  /** What is written instead; as written when left out. */
  readonly replacement?: string;
  /** Whether it was a serial type, which implies an identity. */
  readonly isSerial?: boolean;
  /** Whether it is an integer type too small for an identity. */
  readonly isSmallInteger?: boolean;
  /** Whether it cannot be a key: json and jsonb. */
  readonly isJson?: boolean;
  /** Whether it is numeric, which could not be a key before its day. */
  readonly isNumeric?: boolean;
  /** The domain that it is; `unknown` for one of which only the name is known. */
  readonly domain?: DeclaredDomain | "unknown";
  /** The folded name of the type. */
  readonly name: string;
}

/** The number after the type's name: `varchar(20)`, `character varying(20)`. */
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
    const isVarying = name === "varchar" || reader.find(new Set(["VARYING"]), from, to) >= 0;
    if (size > (isVarying ? MAX_VARCHAR : MAX_CHAR)) t.refuse("type-length");
  }
  return { name, isSmallInteger: SMALL_INTEGERS.has(name) };
}

/**
 * Looks at the type of a column: what cannot be stored is refused, what has another spelling gets it.
 *
 * @param reader The statement.
 * @param from Where the type starts.
 * @param to Where it ends.
 * @param t Where refusals and warnings go.
 * @param column The column's name, for messages.
 * @returns What the type becomes.
 */
export function translateType(
  reader: StatementReader,
  from: number,
  to: number,
  t: StatementTranslation,
  column?: string,
): ColumnType {
  const { name, path, end } = readName(reader, from);
  const refuse = (id: string, type: string): void =>
    t.refuse(id, column === undefined ? `type ${type}` : `column ${column} of type ${type}`, type);
  const schema = path === name ? undefined : path.slice(0, -name.length - 1);
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
  else return ownType(name, path, t, refuse);
  return { name };
}

function ownType(
  name: string,
  path: string,
  t: StatementTranslation,
  refuse: (id: string, type: string) => void,
): ColumnType {
  const { domains, declared } = t.scope;
  const schema = path === name ? undefined : path.slice(0, -name.length - 1);
  const domain = findObject(declared.domains, { schema, name });
  if (domain === undefined && !domains.has(path) && !domains.has(name)) {
    refuse("type-user-defined", path);
  }
  return { name, isJson: domain && isJsonType(domain.type), domain: domain ?? "unknown" };
}
