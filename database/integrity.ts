import type { Column } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { ForeignKeyViolationError } from "../errors/database_errors.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { columnSql, tableSql, toSql } from "./session/column_sql.ts";
import { getColumns, getTableNames } from "./session/drizzle_table.ts";
import { joinSql, type PlainSql, rawSql, sql } from "./session/plain_sql.ts";
import type { DrizzleClient } from "./session/drizzle_client.ts";
import { runSqlRows } from "./session/run_sql.ts";
import { quoteName } from "../sql/quote.ts";

/** Values per statement, well below the limits on parameters and plan size. */
const VALUES_PER_STATEMENT = 200;

/** Options of {@link assertRowExists}. */
export interface ReferenceOptions {
  /** Constraint name to report, so that a query's `constraints` can map the error to a field. */
  constraint?: string;
}

/**
 * Checks that a referenced row exists, for references without a foreign key. The row may be deleted
 * between this check and the following write: where that matters, run both in one transaction.
 *
 * @param db A client or a transaction's client.
 * @param table A drizzle table, or a table's name.
 * @param column The column: a drizzle column, its property name, or its name in the database.
 * @param value The value to look for. `null` and `undefined` are accepted and refer to no row.
 * @param options The constraint's name.
 * @throws {ForeignKeyViolationError} If no such row exists (HTTP status 409). The message has table
 * and column, not the value.
 *
 * @example
 * ```ts
 * import { assertRowExists, closeDrizzleClient, getDrizzleClient } from "@trellis/fn/database";
 * import { sql } from "@trellis/fn/database/orm";
 *
 * const db = await getDrizzleClient({ provider: "embedded-pg" });
 * await db.execute(sql`CREATE TABLE owners (id int PRIMARY KEY)`);
 * await assertRowExists(db, "owners", "id", 1).catch((error) => console.log(error.statusCode)); // 409
 * await closeDrizzleClient();
 * ```
 */
export function assertRowExists<TSchema extends Record<string, unknown>>(
  db: DrizzleClient<TSchema>,
  table: PgTable | string,
  column: PgColumn | string,
  value: unknown,
  options: ReferenceOptions = {},
): Promise<void> {
  return assertRowsExist(db, table, column, [value], options);
}

/**
 * Checks several values like {@link assertRowExists}, with one query per 200 values.
 *
 * @param db A client or a transaction's client.
 * @param table A drizzle table, or a table's name.
 * @param column The column.
 * @param values The values to look for; may be empty.
 * @param options The constraint's name.
 * @throws {ForeignKeyViolationError} If a row is missing.
 */
export async function assertRowsExist<TSchema extends Record<string, unknown>>(
  db: DrizzleClient<TSchema>,
  table: PgTable | string,
  column: PgColumn | string,
  values: readonly unknown[],
  { constraint }: ReferenceOptions = {},
): Promise<void> {
  const target = resolveTarget(db, table, column);
  const distinct = [...new Set(values)];
  if (distinct.some((value) => value === null || value === undefined)) {
    throw missing(target, constraint);
  }
  for (let start = 0; start < distinct.length; start += VALUES_PER_STATEMENT) {
    // the server compares the values, so that its own equality rules apply
    const conditions = distinct.slice(start, start + VALUES_PER_STATEMENT).map((value) =>
      sql`exists (select 1 from ${target.from} where ${target.compared} = ${target.bind(value)})`
    );
    const rows = await runSqlRows(
      db,
      sql`select ${joinSql(conditions, " and ")} as "found"`,
    );
    if (rows[0]?.found !== true) throw missing(target, constraint);
  }
}

interface Target {
  table: string;
  column: string;
  from: PlainSql;
  compared: PlainSql;
  bind: (value: unknown) => PlainSql;
}

function resolveTarget(db: object, table: PgTable | string, column: PgColumn | string): Target {
  if (typeof table === "string") {
    const name = typeof column === "string" ? column : column.name;
    return {
      table,
      column: name,
      from: rawSql(table.split(".").map(quoteName).join(".")),
      compared: rawSql(quoteName(name)),
      bind: (value) => toSql(value),
    };
  }
  const found = typeof column === "string" ? findColumn(table, column) : column;
  return {
    table: getTableNames(table).name,
    column: found.name,
    from: tableSql(table),
    compared: columnSql(db, found),
    bind: (value) => toSql(value, found),
  };
}

function findColumn(table: PgTable, name: string): Column {
  const all = getColumns(table);
  const found = Object.hasOwn(all, name)
    ? all[name]
    : Object.values(all).find((column) => column.name === name);
  if (found !== undefined) return found;
  throw new ConfigurationError(
    `Table ${getTableNames(table).name} has no column ${JSON.stringify(name)}; ` +
      `it has ${Object.values(all).map((column) => column.name).join(", ")}`,
  );
}

/**
 * SQLSTATE of foreign_key_violation (PostgreSQL 18, appendix A), as a real foreign key would raise
 * it.
 */
const FOREIGN_KEY_VIOLATION = "23503";

function missing(
  { table, column }: Target,
  constraint: string | undefined,
): ForeignKeyViolationError {
  return new ForeignKeyViolationError(`No row of ${table} has this ${column}`, {
    table,
    column,
    constraint,
    sqlState: FOREIGN_KEY_VIOLATION,
  });
}
