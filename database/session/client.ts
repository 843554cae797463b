import { DrizzleQueryError } from "drizzle-orm";
import type { DrizzleClient } from "../providers/provider.ts";
import type { ConnectionSlots } from "./connection_slots.ts";
import { Dialect } from "./dialect.ts";
import type { SqlDriver } from "./driver.ts";
import { DrizzleClients } from "./drizzle_clients.ts";
import { PoolSession } from "./session.ts";
import { POSTGRES_RULES, type TransactionRules } from "./transaction_state.ts";

/** Options of {@link createSessionClient}. */
export interface SessionClientOptions {
  /** Tables and relations for `db.query`. */
  readonly schema: Record<string, unknown> | undefined;
  /**
   * Writes the SQL.
   * @default drizzle's dialect of PostgreSQL
   */
  readonly dialect?: Pick<Dialect, "hasOwnText" | "write">;
  /**
   * Limits of transactions on the server.
   * @default those of PostgreSQL
   */
  readonly rules?: TransactionRules;
}

/**
 * Creates drizzle's client on a driver.
 *
 * @param driver The connections.
 * @param slots Counts the transactions on them.
 * @param options Schema, dialect and limits.
 * @returns The client.
 */
export function createSessionClient(
  driver: SqlDriver,
  slots: ConnectionSlots,
  { schema, dialect = new Dialect(), rules = POSTGRES_RULES }: SessionClientOptions,
): DrizzleClient {
  const clients = new DrizzleClients(dialect as Dialect, schema);
  const session = new PoolSession(driver, slots, {
    hasOwnText: dialect.hasOwnText,
    write: (statement) => dialect.write(statement),
    createError: (text, params, cause) => new DrizzleQueryError(text, params, cause),
    rules,
    createTransaction: (session, depth) => clients.createTransaction(session, depth),
    createBuilder: () => clients.createBuilder(),
  });
  return Object.assign(clients.createClient(session), { $client: driver.client });
}
