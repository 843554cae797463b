import type * as drizzle from "drizzle-orm";
import type * as core from "drizzle-orm/pg-core";

/** Column of a {@link QueryResult}. */
export interface QueryResultField {
  /** Name of the column. */
  name: string;
  /** Object id of the type in `pg_type`; 0 if the Data API reports a user-defined type. */
  dataTypeID: number;
}

/**
 * Result of `db.execute`, and of an insert, update or delete without `returning`: the same on every
 * provider, in the form of node-postgres.
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
  /** Rows; empty for a statement without rows. */
  rows: T[];
  /** Number of rows read or changed; null for commands without a count, such as `CREATE TABLE`. */
  rowCount: number | null;
  /** First word of the command tag, such as `UPDATE`. */
  command: string;
  /** The columns. */
  fields: QueryResultField[];
}

/** Result type of `execute` for drizzle. */
export interface QueryResultHKT extends core.PgQueryResultHKT {
  /** Result for a row type. */
  readonly type: QueryResult<this["row"]>;
}

type Schema = Record<string, unknown>;
/** @ts-ignore drizzle 1.0 lacks it */
type Client45<S extends Schema> = core.PgDatabase<QueryResultHKT, S>;
/** @ts-ignore drizzle 0.45 lacks it */
type Client1<S extends Schema> = core.PgAsyncDatabase<QueryResultHKT, Relations<S>>;
/** @ts-ignore drizzle 0.45 lacks it */
export type Relations<S extends Schema> = S extends drizzle.AnyRelations ? S : Record<never, never>;

/** Chooses the property of the installed version of drizzle: 0.45, or 1.0. */
export type ByVersion<T extends { v45: unknown; v1: unknown }> =
  T["PgAsyncDatabase" extends keyof typeof core ? "v1" : "v45"];

/**
 * drizzle's PostgreSQL client, independent of the driver. With drizzle 1.0 the schema is the result of
 * `defineRelations`.
 */
export type DrizzleClient<TSchema extends Record<string, unknown> = Record<string, unknown>> =
  ByVersion<{ v45: Client45<TSchema>; v1: Client1<TSchema> }>;
