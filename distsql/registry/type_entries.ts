import { DistSqlAction, DistSqlCategory, type DistSqlIncompatibility } from "./incompatibility.ts";
import { inCategory } from "./in_category.ts";

const { DataType } = DistSqlCategory;
const { Error, Recreate, Rewrite, Strip, Warn } = DistSqlAction;

/** Entries about column types. */
export const TYPE_ENTRIES: readonly DistSqlIncompatibility[] = inCategory(DataType, [
  {
    id: "type-serial",
    action: Rewrite,
    title: "serial, bigserial, smallserial",
    advice: "Written as a bigint identity column; postgres.js returns bigint as a string.",
    since: "2026-02-28",
    sqlState: "42704",
    message: 'type "serial" does not exist',
    source: ["EMU", "LINT"],
  },
  {
    id: "type-serial-unsupported",
    action: Error,
    title: "serial and identity columns",
    advice: "Use uuid DEFAULT gen_random_uuid().",
    until: "2026-02-27",
    sqlState: "42704",
    message: 'type "serial" does not exist',
    source: ["REL"],
  },
  {
    id: "add-serial-column",
    action: Recreate,
    title: "ADD COLUMN of a serial type",
    advice:
      "The table is recreated with a bigint identity column; rows are numbered in the order " +
      "of their key.",
    sqlState: "42704",
    message: 'type "serial" does not exist',
    source: ["EMU"],
  },
  {
    id: "serial-default",
    action: Rewrite,
    title: "DROP DEFAULT, SET DEFAULT and the sequence of a serial column",
    advice: "The column is an identity: DROP DEFAULT drops the identity and keeps its sequence, " +
      "SET DEFAULT nextval() of its own sequence is omitted.",
    since: "2026-02-28",
    sqlState: "42601",
    message: 'column "id" of relation "notes" is an identity column',
    source: ["AT", "CS"],
    evidence: "inferred",
  },
  {
    id: "serial-sequence",
    action: Error,
    title: "Changes that an identity column which replaces serial does not support",
    advice: "Write ALTER COLUMN … DROP DEFAULT first, in the same statement or before it.",
    since: "2026-02-28",
    sqlState: "42601",
    source: ["AT", "CS"],
    evidence: "inferred",
  },
  {
    id: "serial-copy",
    action: Error,
    title: "LIKE … INCLUDING DEFAULTS of a table with a serial column",
    advice: "List the columns, with a default of nextval() for the sequence that both tables use.",
    since: "2026-02-28",
    source: ["CT"],
    evidence: "inferred",
  },
  {
    id: "type-identity-bigint",
    action: Rewrite,
    title: "Identity column of type integer or smallint",
    advice: "The type is changed to bigint; postgres.js returns bigint as a string.",
    message: "datatype integer not supported, identity column type must be bigint",
    source: ["EMU"],
  },
  {
    id: "identity-cache",
    action: Rewrite,
    title: "Identity column without CACHE, or with CACHE 2 to 65535",
    advice: "CACHE is added: 1 keeps values in order, 65536 is faster but leaves gaps.",
    message: "identity column is not supported without an explicit cache " +
      "size. please define CACHE greater than or equal " +
      "to 65536 or equal to 1",
    source: ["EMU", "CS"],
  },
  {
    id: "type-array",
    action: Error,
    title: "Array columns",
    advice: "Use jsonb, or a child table; arrays can still be used in queries.",
    message: "datatype text[] not supported",
    source: ["EMU"],
  },
  {
    id: "type-json-as-text",
    action: Rewrite,
    title: "json and jsonb columns",
    advice: "Stored as text: cast it in queries.",
    until: "2026-06-29",
    message: "datatype jsonb not supported",
    source: ["REL", "DT"],
  },
  {
    id: "type-unsupported",
    action: Error,
    title: "Types that cannot be stored: money, xml, inet, " +
      "ranges, bit, geometry, text search and others",
    advice: "Use a type that can be stored; inet and others can still be used in expressions.",
    message: "datatype money not supported",
    source: ["EMU"],
  },
  {
    id: "type-extension",
    action: Error,
    title: "Types of extensions: vector, citext, hstore, geometry and others",
    advice: "Use a plain type (text for citext, jsonb for hstore) or another data store.",
    sqlState: "42704",
    source: ["EMU"],
    evidence: "inferred",
  },
  {
    id: "extension-function",
    action: Error,
    title: "Functions of extensions: pgcrypto, pg_trgm, unaccent, PostGIS and others",
    advice: "Compute the value in the application, or with gen_random_uuid(), md5() or sha256().",
    sqlState: "42883",
    source: ["EMU"],
    evidence: "inferred",
  },
  {
    id: "type-user-defined",
    action: Error,
    title: "Column of a user-defined type",
    advice:
      "Set the option `enums` to convert enums to text with CHECK (column IN (…)). Create a " +
      "domain in an earlier statement.",
    sqlState: "42704",
    source: ["EMU"],
  },
  {
    id: "type-enum-check",
    action: Rewrite,
    title: "Enum column, with the option `enums`",
    advice: "Written as text with a CHECK of the labels, which ALTER TYPE updates. A wrong label " +
      "gives SQLSTATE 23514.",
    source: ["EMU"],
  },
  {
    id: "type-enum-order",
    action: Warn,
    title: "Order of an enum, with the option `enums`",
    advice:
      "Text is ordered alphabetically. List the labels, such as s IN ('medium', 'high') for " +
      "s > 'low', and sort by array_position(ARRAY['low', 'medium', 'high'], s::text).",
    source: ["EMU"],
    evidence: "inferred",
  },
  {
    id: "type-enum-unproven",
    action: Error,
    title: "Order of an enum in a statement that changes or stores something, with the option " +
      "`enums`",
    advice: "List the labels, or compare array_position(ARRAY['low', 'medium', 'high'], s::text).",
    source: ["EMU"],
    evidence: "inferred",
  },
  {
    id: "type-enum-change",
    action: Error,
    title: "Changes of an enum that cannot be translated, with the option `enums`",
    advice:
      "First drop the objects that use the label or the type (view, index, CHECK, key), and " +
      "create them again afterwards. What PostgreSQL rejects (a type that exists, a type in " +
      "use) is rejected too.",
    source: ["EMU"],
    evidence: "inferred",
  },
  {
    id: "type-enum-label",
    action: Error,
    title: "A value that is not a label of its enum, with the option `enums`",
    advice: "PostgreSQL rejects it with 22P02: use one of the labels, or add the label first.",
    source: ["EMU"],
    evidence: "inferred",
  },
  {
    id: "type-enum-use",
    action: Error,
    title: "Enums in functions, domains, regtype and enum_range(), with the option `enums`",
    advice: "Use text instead of the type, and list the labels where they are needed.",
    sqlState: "42704",
    source: ["EMU"],
    evidence: "inferred",
  },
  {
    id: "create-type",
    action: Error,
    title: "CREATE TYPE and ALTER TYPE",
    advice:
      "Use text with CHECK (column IN (…)) instead of an enum, jsonb instead of a composite " +
      "type.",
    message: "CREATE TYPE not supported",
    source: ["EMU"],
  },
  {
    id: "drop-type",
    action: Strip,
    title: "DROP TYPE",
    advice: "Omitted: there are no user-defined types.",
    message: "unsupported object in DROP statement",
    source: ["EMU"],
  },
  {
    id: "alter-domain",
    action: Error,
    title: "ALTER DOMAIN SET NOT NULL or ADD CONSTRAINT, DROP DOMAIN CASCADE",
    advice: "Put the rule into a CHECK of each table; drop the columns before the domain.",
    sqlState: "0A000",
    source: ["EMU", "PROBE"],
  },
  {
    id: "numeric-precision",
    action: Warn,
    title: "numeric without precision",
    advice: "Stored as numeric(18,6), which rounds silently: write the precision, or set the " +
      "option `numeric`.",
    source: ["DT", "DSB"],
  },
  {
    id: "numeric-digits",
    action: Error,
    title: "numeric of more than 38 digits",
    advice: "Use at most 38 digits, or store text.",
    until: "2026-08-24",
    source: ["DT", "REL"],
  },
  {
    id: "type-length",
    action: Error,
    title: "varchar over 65,535 or char over 4,096 characters",
    advice: "Use text, with a CHECK of the length where it matters.",
    source: ["DT"],
  },
  {
    id: "value-size",
    action: Warn,
    title: "Values over 1 MiB, rows over 2 MiB",
    advice: "Keep large values in object storage, and their key in the row.",
    message: "datatype limit greater than 1048576 bytes not supported for jsonb",
    source: ["LIM", "Q"],
  },
  {
    id: "collation",
    action: Rewrite,
    title: "COLLATE",
    advice: "Omitted: the database uses the collation C. Sort in the application.",
    message: "COLLATE clause not supported",
    source: ["LINT", "PROBE"],
  },
]);
