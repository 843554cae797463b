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
} from "./introspect_queries.ts";
import {
  CONSTRAINT_TYPES,
  optional,
  toColumn,
  toConstraint,
  toIndex,
  toNames,
} from "./introspect_rows.ts";
import type { RecreationPlan } from "./recreation_plan.ts";
import { RecreationError } from "./recreation_error.ts";
import { temporaryName } from "./sql_text.ts";
import type { IncomingForeignKey, OwnedSequence, TableGrant, TableSchema } from "./table_schema.ts";
import { readWork } from "./work_table.ts";
import { qualify, quoteLiteral } from "../../sql/quote.ts";

/**
 * Reads a table from the catalog. During an unfinished recreation this is the original table, so
 * that the same plan results and the recreation continues.
 *
 * @param run Runs a statement.
 * @param tableName Exact name of the table, or, if there is none of that name, its name as SQL.
 * @throws {RecreationError} If there is no such table, or it is a view, a partition or partitioned.
 */
export async function readTableSchema(run: RunSql, tableName: string): Promise<TableSchema> {
  const found = await findTable(run, tableName);
  const unfinished = found ?? await findUnfinished(run, tableName);
  if (unfinished === undefined) {
    throw new RecreationError(
      `Table ${JSON.stringify(tableName)} does not exist or is not visible ` +
        "to this role: check the name, and add its schema if it is not in the search path",
      { reason: "statement", table: tableName },
    );
  }
  const plan = await readWork<RecreationPlan>(
    run,
    String(unfinished.schema),
    String(unfinished.name),
    "plan",
  );
  if (plan !== undefined) return plan.current;
  if (found === undefined) {
    throw new RecreationError(
      `${tableName} was renamed by a recreation whose record is lost: rename ` +
        `${unfinished.old} back to it`,
      { reason: "unfinished", table: tableName },
    );
  }
  return await readTable(run, found);
}

/** Reads the current table, ignoring an unfinished recreation. */
export async function introspectLive(
  run: RunSql,
  oid: string,
): Promise<TableSchema | undefined> {
  const [row] = await run(tableQuery(`c.oid = ${oid}`));
  return row === undefined ? undefined : await readTable(run, row);
}

async function findTable(run: RunSql, tableName: string): Promise<Row | undefined> {
  const [exact] = await run(
    tableQuery(`c.relname = ${quoteLiteral(tableName)} AND pg_table_is_visible(c.oid)`),
  );
  if (exact !== undefined) return exact;
  const parts = getParts(tableName);
  if (parts === undefined) return undefined;
  const [row] = await run(tableQuery(whereNamed(parts)));
  return row;
}

/** Finds a table in the middle of a recreation, when no table has its name. */
async function findUnfinished(run: RunSql, tableName: string): Promise<Row | undefined> {
  for (const parts of [[tableName], getParts(tableName) ?? []]) {
    const name = parts.at(-1);
    if (name === undefined) continue;
    const old = [...parts.slice(0, -1), temporaryName(name, "old")];
    const [row] = await run(tableQuery(whereNamed(old)));
    if (row !== undefined) return { ...row, name, old: qualify(String(row.schema), old.at(-1)!) };
  }
  return undefined;
}

function whereNamed(parts: readonly string[]): string {
  const name = `c.relname = ${quoteLiteral(parts.at(-1)!)}`;
  return parts.length > 1
    ? `${name} AND n.nspname = ${quoteLiteral(parts.at(-2)!)}`
    : `${name} AND pg_table_is_visible(c.oid)`;
}

/** Returns the parts of a name in SQL syntax. */
function getParts(tableName: string): string[] | undefined {
  const reader = parseStatement(tableName);
  if (reader.size === 0 || reader.nameEnd(0) !== reader.size) return undefined;
  const parts: string[] = [];
  for (let at = 0; at < reader.size; at += 2) parts.push(getName(reader.token(at)!));
  return parts;
}

async function readTable(run: RunSql, row: Row): Promise<TableSchema> {
  const oid = String(row.oid);
  const name = String(row.name);
  if (row.kind !== "r" || row.is_partition === true) {
    throw new RecreationError(
      `${name} is not an ordinary table (a view, a partition, partitioned or foreign), so it ` +
        "cannot be recreated by copying its rows",
      { reason: "statement", table: name },
    );
  }
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

/**
 * Returns the planner's estimate of the rows of a table, or their count if there is none.
 *
 * @param run Runs a statement.
 * @param tableName As for {@link readTableSchema}.
 */
export async function estimateRows(run: RunSql, tableName: string): Promise<number> {
  const found = await findTable(run, tableName) ?? await findUnfinished(run, tableName);
  if (found === undefined) {
    throw new RecreationError(
      `Table ${JSON.stringify(tableName)} does not exist or is not visible to this role: ` +
        "check the name",
      {
        reason: "statement",
        table: tableName,
      },
    );
  }
  const [row] = await run(
    `SELECT reltuples::bigint::text AS rows FROM pg_class WHERE oid = ${found.oid}`,
  );
  const estimate = Number(row.rows);
  // never analyzed: -1 since PostgreSQL 14, 0 before
  if (estimate > 0) return estimate;
  const table = qualify(
    String(found.schema),
    String(found.old === undefined ? found.name : temporaryName(String(found.name), "old")),
  );
  const [counted] = await run(`SELECT count(*)::text AS rows FROM ${table}`);
  return Number(counted.rows);
}
