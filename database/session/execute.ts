import type { SQL } from "drizzle-orm";
import type { DrizzleClient } from "./drizzle_client.ts";
import type { Row } from "../../sql/session.ts";

/**
 * Runs raw SQL and returns its rows. Also accepts clients of drizzle's own drivers. Values have the
 * types of node-postgres (`pg`) on every provider.
 *
 * @param db A client or a transaction's client.
 * @param query The statement: a drizzle `sql` template.
 * @returns The rows.
 *
 * @example
 * ```ts
 * import { closeDrizzleClient, executeRows, getDrizzleClient } from "@trellis/fn/database";
 * import { sql } from "@trellis/fn/database/orm";
 *
 * const db = await getDrizzleClient({ provider: "embedded-pg" });
 * console.log(await executeRows(db, sql`select 1 as one`)); // [{ one: 1 }]
 * await closeDrizzleClient();
 * ```
 */
export async function executeRows<
  T extends Row = Row,
  TSchema extends Record<string, unknown> = Record<string, unknown>,
>(
  db: DrizzleClient<TSchema>,
  query: SQL,
): Promise<T[]> {
  return toRows(await db.execute(query));
}

/** Returns the rows of a result of `execute`, whose form depends on the driver. */
export function toRows<T extends Row>(result: unknown): T[] {
  return (Array.isArray(result) ? [...result] : (result as { rows: T[] }).rows) as T[];
}
