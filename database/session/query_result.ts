import type { PgQueryResultHKT } from "drizzle-orm/pg-core";

/** A column of a {@link QueryResult}. */
export interface QueryResultField {
  /** The column's name. */
  name: string;
  /** The type's object id in `pg_type`; 0 where the Data API names a type that the application made. */
  dataTypeID: number;
}

/**
 * The result of `db.execute`, and of an insert, update or delete without `returning`: the same on every provider, in the
 * form of node-postgres.
 *
 * @example
 * ```ts
 * import { closeDrizzleClient, getDrizzleClient } from "@trellis/fn/database";
 * import { sql } from "@trellis/fn/database/orm";
 *
 * const db = await getDrizzleClient({ provider: "embedded-pg" });
 * const { rows, rowCount } = await db.execute<{ n: string }>(sql`select 9007199254740993::int8 as n`);
 * console.log(rows, rowCount); // [{ n: "9007199254740993" }] 1
 * await closeDrizzleClient();
 * ```
 */
export interface QueryResult<T = Record<string, unknown>> {
  /** The rows; empty for a statement that gives none. */
  rows: T[];
  /** Number of rows read or changed; null for commands that count none, such as `CREATE TABLE`. */
  rowCount: number | null;
  /** First word of the command that ran, such as `UPDATE`. */
  command: string;
  /** The columns. */
  fields: QueryResultField[];
}

/** Tells drizzle's types what `execute` resolves to. */
export interface QueryResultHKT extends PgQueryResultHKT {
  /** The result for a row type. */
  readonly type: QueryResult<this["row"]>;
}
