import { parseStatement } from "../../sql/statement_reader.ts";
import type { Row } from "../../sql/session.ts";
import { formatForeignKey, parseForeignKey, stripNotValid } from "./foreign_key.ts";
import type {
  TableColumn,
  TableConstraint,
  TableConstraintType,
  TableIdentity,
  TableIndex,
} from "./table_schema.ts";

const STORAGE: Readonly<Record<string, string>> = {
  p: "PLAIN",
  e: "EXTERNAL",
  m: "MAIN",
  x: "EXTENDED",
};
const COMPRESSION: Readonly<Record<string, string>> = { p: "pglz", l: "lz4" };

/** Converts a catalog row to a column. */
export function toColumn(
  row: Row,
  constraints: readonly Row[],
  sequences: readonly Row[],
  dialect: string,
): TableColumn {
  const name = String(row.name);
  const notNull = constraints.find(({ type, columns }) =>
    type === "n" && toNames(columns)[0] === name
  );
  const settings: string[] = [];
  if (dialect === "postgres") {
    if (row.storage !== null) settings.push(`SET STORAGE ${STORAGE[String(row.storage)]}`);
    if (row.compression !== null) {
      settings.push(`SET COMPRESSION ${COMPRESSION[String(row.compression)]}`);
    }
    if (row.statistics !== null) settings.push(`SET STATISTICS ${row.statistics}`);
    if (row.options !== null) settings.push(`SET (${toNames(row.options).join(", ")})`);
  }
  const isGenerated = row.generated !== "";
  return {
    name,
    type: String(row.type),
    notNull: row.not_null === true,
    ...optional("notNullName", notNull?.name),
    ...isGenerated ? {} : optional("default", row.expression),
    ...row.identity === ""
      ? {}
      : { identity: toIdentity(row, sequences.find(({ column }) => column === name)) },
    ...isGenerated
      ? { generated: { expression: String(row.expression), stored: row.generated === "s" } }
      : {},
    ...dialect === "postgres" ? optional("collation", row.collation) : {},
    ...optional("comment", row.comment),
    ...settings.length > 0 ? { settings } : {},
  };
}

const LARGEST: Readonly<Record<string, string>> = {
  smallint: "32767",
  integer: "2147483647",
  bigint: "9223372036854775807",
};

/**
 * Converts the identity of a column. Bounds that equal the type's are omitted, so that they follow
 * a change of type.
 */
function toIdentity(column: Row, row: Row | undefined): TableIdentity {
  const always = column.identity === "a";
  if (row === undefined) return { always, options: "" };
  const isTypical = row.min === "1" && row.max === LARGEST[String(row.type)];
  const options = [
    `START WITH ${row.start}`,
    `INCREMENT BY ${row.increment}`,
    ...isTypical ? [] : [`MINVALUE ${row.min}`, `MAXVALUE ${row.max}`],
    `CACHE ${row.cache}`,
    ...row.cycle === true ? ["CYCLE"] : [],
  ].join(" ");
  const sequence = {
    schema: String(row.schema),
    name: String(row.name),
    increment: String(row.increment),
  };
  return { always, options, sequence };
}

/** Constraint types by their catalog codes. */
export const CONSTRAINT_TYPES: Readonly<Record<string, TableConstraintType | undefined>> = {
  p: "primary_key",
  u: "unique",
  c: "check",
  f: "foreign_key",
  x: "exclude",
};

/** Converts a catalog row to a constraint. */
export function toConstraint(row: Row): TableConstraint {
  const type = CONSTRAINT_TYPES[String(row.type)] ?? "check";
  const definition = stripNotValid(String(row.definition));
  const base = {
    name: String(row.name),
    type,
    columns: toNames(row.columns),
    definition,
    validated: row.validated === true,
    ...optional("comment", row.comment),
  };
  if (type !== "foreign_key") return base;
  const references = {
    schema: String(row.target_schema),
    table: String(row.target),
    columns: toNames(row.targets),
    ...optional("index", row.key_index),
  };
  // the server omits schemas in the search path, but a later run may have another search path
  const { schema, table, columns: targets } = references;
  return {
    ...base,
    definition: formatForeignKey({ ...parseForeignKey(definition), schema, table, targets }),
    references,
  };
}

/** Converts a catalog row to an index. */
export function toIndex(row: Row): TableIndex {
  const definition = String(row.definition);
  const reader = parseStatement(definition);
  const on = reader.find("ON", 0);
  const from = reader.nameEnd(reader.skip(on + 1, "ONLY"));
  const keys = toNames(row.keys);
  return {
    name: String(row.name),
    unique: row.is_unique === true,
    definition: reader.text(from, reader.size),
    columns: [...new Set([...keys, ...toNames(row.used)])],
    ...row.is_plain === true ? { keys: keys.slice(0, Number(row.key_count)) } : {},
    valid: row.valid === true,
    ...optional("comment", row.comment),
  };
}

/** Parses names from JSON, which some drivers return as text. */
export function toNames(json: unknown): string[] {
  if (json === null || json === undefined) return [];
  return (typeof json === "string" ? JSON.parse(json) : json) as string[];
}

/** Returns an object with the field, or an empty one if the catalog has no value. */
export function optional<K extends string>(key: K, value: unknown): Partial<Record<K, string>> {
  return value === null || value === undefined
    ? {}
    : { [key]: String(value) } as Partial<Record<K, string>>;
}
