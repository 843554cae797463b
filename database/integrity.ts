import { getTableName, is, SQL, sql } from "drizzle-orm";
import { getTableConfig, type PgColumn, type PgTable } from "drizzle-orm/pg-core";
import { ForeignKeyViolationError } from "../errors/database_errors.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { executeRows } from "./execute.ts";
import type { DrizzleClient } from "./providers/provider.ts";

/** Values looked for in one statement: far below every limit on parameters and plan size. */
const VALUES_PER_STATEMENT = 200;

/** Options of {@link assertRowExists}. */
export interface ReferenceOptions {
  /** The name of the constraint that the check stands for: a query's `constraints` map it to a field. */
  constraint?: string;
}

/**
 * Makes sure that a row exists which another row is about to refer to, where the database has no foreign key for it.
 * Between this look and the write the row may go: run both in one transaction where that matters.
 *
 * @param db A client or a transaction's client.
 * @param table A drizzle table, or a table's name.
 * @param column One of its columns: drizzle's, its property's name, or its name in the database.
 * @param value What the column must hold. `null` and `undefined` refer to no row.
 * @param options The constraint's name.
 * @throws {ForeignKeyViolationError} When there is no such row (HTTP status 409). Names table and column, not the value.
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
 * {@link assertRowExists} for several values, in one query for each 200 of them.
 *
 * @param db A client or a transaction's client.
 * @param table A drizzle table, or a table's name.
 * @param column One of its columns.
 * @param values What the column must hold, in one row for each; none is fine.
 * @param options The constraint's name.
 * @throws {ForeignKeyViolationError} When a row is missing.
 */
export async function assertRowsExist<TSchema extends Record<string, unknown>>(
  db: DrizzleClient<TSchema>,
  table: PgTable | string,
  column: PgColumn | string,
  values: readonly unknown[],
  { constraint }: ReferenceOptions = {},
): Promise<void> {
  const target = resolveTarget(table, column);
  const distinct = [...new Set(values)];
  if (distinct.some((value) => value === null || value === undefined)) {
    throw missing(target, constraint);
  }
  for (let start = 0; start < distinct.length; start += VALUES_PER_STATEMENT) {
    // each value is compared by the server, so that its own idea of equality counts
    const conditions = distinct.slice(start, start + VALUES_PER_STATEMENT).map((value) =>
      sql`exists (select 1 from ${target.from} where ${target.compared} = ${target.bind(value)})`
    );
    const rows = await executeRows(db, sql`select ${sql.join(conditions, sql` and `)} as "found"`);
    if (rows[0]?.found !== true) throw missing(target, constraint);
  }
}

interface Target {
  table: string;
  column: string;
  from: SQL;
  compared: SQL;
  bind: (value: unknown) => unknown;
}

function resolveTarget(table: PgTable | string, column: PgColumn | string): Target {
  if (typeof table === "string") {
    const name = typeof column === "string" ? column : column.name;
    return {
      table,
      column: name,
      from: sql.join(table.split(".").map((part) => sql.identifier(part)), sql`.`),
      compared: sql`${sql.identifier(name)}`,
      bind: (value) => value,
    };
  }
  const found = typeof column === "string" ? findColumn(table, column) : column;
  return {
    table: getTableName(table),
    column: found.name,
    from: sql`${table}`,
    compared: sql`${found}`,
    bind: (value) => is(value, SQL) ? value : sql.param(value, found),
  };
}

function findColumn(table: PgTable, name: string): PgColumn {
  const columns = table as unknown as Record<string, PgColumn | undefined>;
  const all = getTableConfig(table).columns;
  const found = all.find((column) => columns[name] === column) ??
    all.find((column) => column.name === name);
  if (found !== undefined) return found;
  throw new ConfigurationError(
    `Table ${getTableName(table)} has no column ${JSON.stringify(name)}; it has ${
      all.map((c) => c.name).join(", ")
    }`,
  );
}

/** SQLSTATE of foreign_key_violation (PostgreSQL 18, appendix A), which a foreign key would give. */
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
