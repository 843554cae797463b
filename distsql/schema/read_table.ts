import { parseStatement } from "../../sql/statement_reader.ts";
import { getName } from "../../sql/sql_name.ts";
import type { Row, RunSql } from "../../sql/session.ts";
import {
  columnsQuery,
  constraintsQuery,
  dependentsQuery,
  grantsQuery,
  indexesQuery,
  sequencesQuery,
  tableQuery,
} from "./catalog_queries.ts";
import {
  CONSTRAINT_TYPES,
  optional,
  toColumn,
  toConstraint,
  toIndex,
  toNames,
} from "./catalog_rows.ts";
import type { IncomingForeignKey, OwnedSequence, TableGrant, TableSchema } from "./table_schema.ts";
import { quoteLiteral } from "../../sql/quote.ts";

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
