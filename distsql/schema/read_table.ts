import { quoteLiteral } from "../../sql/quote.ts";
import type { Row, RunSql } from "../../sql/session.ts";
import { getName } from "../../sql/sql_name.ts";
import { parseStatement } from "../../sql/statement_reader.ts";
import {
  columnsQuery,
  constraintsQuery,
  dependentsQuery,
  grantsQuery,
  indexesQuery,
  sequencesQuery,
  tableQuery,
} from "./catalog_queries.ts";
import { formatForeignKey, parseForeignKey, stripNotValid } from "./foreign_key.ts";
import type {
  IncomingForeignKey,
  OwnedSequence,
  TableColumn,
  TableConstraint,
  TableConstraintType,
  TableGrant,
  TableIdentity,
  TableIndex,
  TableSchema,
} from "./table_schema.ts";

/**
 * Finds a relation of the catalog.
 *
 * @param run Runs a query.
 * @param tableName Exact name of a visible relation, or, if there is none of that name, its name as
 * SQL.
 * @returns Its row.
 */
export async function findTable(run: RunSql, tableName: string): Promise<Row | undefined> {
  const [exact] = await run(
    tableQuery(`c.relname = ${quoteLiteral(tableName)} AND pg_table_is_visible(c.oid)`),
  );
  if (exact !== undefined) return exact;
  const parts = getParts(tableName);
  if (parts === undefined) return undefined;
  const [row] = await run(tableQuery(whereNamed(parts)));
  return row;
}

/** Returns the condition for a relation by the parts of its name. */
export function whereNamed(parts: readonly string[]): string {
  const name = `c.relname = ${quoteLiteral(parts.at(-1)!)}`;
  return parts.length > 1
    ? `${name} AND n.nspname = ${quoteLiteral(parts.at(-2)!)}`
    : `${name} AND pg_table_is_visible(c.oid)`;
}

/** Returns the parts of a name in SQL syntax. */
export function getParts(tableName: string): string[] | undefined {
  const reader = parseStatement(tableName);
  if (reader.size === 0 || reader.nameEnd(0) !== reader.size) return undefined;
  const parts: string[] = [];
  for (let at = 0; at < reader.size; at += 2) parts.push(getName(reader.token(at)!));
  return parts;
}

/** Checks whether a relation is an ordinary table: no view, partition, partitioned or foreign table. */
export function isOrdinary({ kind, is_partition }: Row): boolean {
  return kind === "r" && is_partition !== true;
}

/**
 * Reads an ordinary table from the catalog, of a live database or an embedded one.
 *
 * @param run Runs a query.
 * @param row Its row, from {@link findTable}.
 */
export async function readTable(run: RunSql, row: Row): Promise<TableSchema> {
  const oid = String(row.oid);
  const name = String(row.name);
  const dialect = row.distsql === true ? "distsql" : "postgres";
  const constraintRows = await run(constraintsQuery(oid, "conrelid"));
  const columnRows = await run(columnsQuery(oid));
  const sequenceRows = await run(sequencesQuery(oid));
  const indexRows = await run(indexesQuery(oid));
  const incoming = await run(constraintsQuery(oid, "confrelid"));
  const grants = await readGrants(run, oid);
  const dependents = (await run(dependentsQuery(oid))).map(({ what }) => String(what));
  if (row.row_security === true) dependents.push("row level security");
  if (row.tablespace !== "0") dependents.push("a tablespace of its own");
  if (dialect === "postgres" && row.replica_identity !== "d") {
    dependents.push("a replica identity of its own");
  }
  const columns = columnRows.map((column) =>
    toColumn(column, constraintRows, sequenceRows, dialect)
  );
  for (const { column, oid, kind } of sequenceRows) {
    const identity = columns.find((one) => one.name === column)?.identity;
    if (kind === "i" && identity?.sequence !== undefined) {
      identity.sequence.grants = await readGrants(run, String(oid), "s");
    }
  }
  return {
    schema: String(row.schema),
    name,
    oid,
    dialect,
    owner: String(row.owner),
    ...row.persistence === "u" ? { unlogged: true } : {},
    ...row.options === null ? {} : { options: toNames(row.options) },
    ...optional("comment", row.comment),
    columns,
    constraints: constraintRows.filter(({ type }) => CONSTRAINT_TYPES[String(type)] !== undefined)
      .map(toConstraint),
    indexes: indexRows.map(toIndex),
    grants,
    referencedBy: incoming.map((one): IncomingForeignKey => ({
      ...toConstraint(one),
      from: { schema: String(one.schema), table: String(one.table) },
    })),
    sequences: sequenceRows.filter(({ kind }) => kind === "a").map((
      { schema, name, column },
    ): OwnedSequence => ({
      schema: String(schema),
      name: String(name),
      column: String(column),
    })),
    dependents,
  };
}

/** Reads the grants on a relation. */
export async function readGrants(
  run: RunSql,
  oid: string,
  kind: "r" | "s" = "r",
): Promise<TableGrant[]> {
  return (await run(grantsQuery(oid, kind))).map((
    { grantee, privilege, grantable, column },
  ) => ({
    grantee: grantee === null ? null : String(grantee),
    privilege: String(privilege),
    grantable: grantable === true,
    ...optional("column", column),
  }));
}

const STORAGE: Readonly<Record<string, string>> = {
  p: "PLAIN",
  e: "EXTERNAL",
  m: "MAIN",
  x: "EXTENDED",
};
const COMPRESSION: Readonly<Record<string, string>> = { p: "pglz", l: "lz4" };

/** Converts a catalog row to a column. */
function toColumn(
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
const CONSTRAINT_TYPES: Readonly<Record<string, TableConstraintType | undefined>> = {
  p: "primary_key",
  u: "unique",
  c: "check",
  f: "foreign_key",
  x: "exclude",
};

/** Converts a catalog row to a constraint. */
function toConstraint(row: Row): TableConstraint {
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
function toIndex(row: Row): TableIndex {
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
function toNames(json: unknown): string[] {
  if (json === null || json === undefined) return [];
  return (typeof json === "string" ? JSON.parse(json) : json) as string[];
}

/** Returns an object with the field, or an empty one if the catalog has no value. */
function optional<K extends string>(key: K, value: unknown): Partial<Record<K, string>> {
  return value === null || value === undefined
    ? {}
    : { [key]: String(value) } as Partial<Record<K, string>>;
}
