import type { DrizzleClient } from "../providers/provider.ts";
import type { SessionClientOptions } from "../session/client.ts";
import type { ConnectionSlots } from "../session/connection_slots.ts";
import type { SqlDriver } from "../session/driver.ts";
import type { DrizzleClients } from "../session/drizzle_clients.ts";
import { PoolSession } from "../session/session.ts";
import { POSTGRES_RULES } from "../session/transaction_state.ts";
import type { DataApiDialect } from "./data_api_dialect.ts";
import { LeanClient, viewLeanClient } from "./lean_client.ts";
import { loadDrizzle } from "./load_drizzle.ts";
import { loadSchema } from "./schema.ts";

/**
 * Creates a client on a driver, in a bundle without drizzle. It sends compiled statements and begins
 * transactions. Everything else loads drizzle, and comes from its client on the same session.
 *
 * @param driver The connections.
 * @param slots Counts the transactions on them.
 * @param options Schema, dialect and limits.
 * @returns The client.
 */
export function createSessionClient(
  driver: SqlDriver,
  slots: ConnectionSlots,
  { schema, dialect, rules = POSTGRES_RULES }: SessionClientOptions,
): DrizzleClient {
  let loaded: DrizzleClients | undefined;
  const getClients = (): DrizzleClients =>
    loaded ??= loadDrizzle().createClients(
      schema && loadSchema(schema),
      (dialect as DataApiDialect | undefined)?.load(),
    );
  const session = new PoolSession(driver, slots, {
    hasOwnText: dialect?.hasOwnText ?? false,
    write: (statement) =>
      (dialect as DataApiDialect | undefined)?.load().write(statement) ?? statement,
    rules,
    // without names for its functions, which take time for each transaction
    createTransaction: (session, depth) =>
      viewLeanClient(
        new LeanClient(
          session,
          (work: never) => session.savepoint(work, depth + 1),
          () => getClients().createTransaction(session, depth),
        ),
      ),
  });
  const own = { $client: driver.client };
  const client = new LeanClient(
    session,
    (work: never, config?: never) => session.transaction(work, config),
    () => Object.assign(getClients().createClient(session), own),
  );
  return viewLeanClient(client) as never;
}
