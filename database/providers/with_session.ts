import { closeUnused, openShared } from "./client.ts";
import { checkDatabaseConfig } from "../config/check_config.ts";
import type { DatabaseSettings } from "../config/config.ts";
import type { DedicatedSession } from "./provider.ts";

/**
 * Runs work in a dedicated session. A connection to a server is opened for the work and closed
 * afterwards. An embedded database stays open, because closing it would lose data in memory.
 *
 * @param database The database.
 * @param fn The work.
 * @returns The result of the work.
 */
export async function withSession<T>(
  database: DatabaseSettings,
  fn: (session: DedicatedSession) => Promise<T>,
): Promise<T> {
  const connection = await openShared(checkDatabaseConfig(database), { check: false });
  const session = await connection.openSession();
  try {
    return await fn(session);
  } finally {
    await session.close();
    if (database.provider !== "embedded-pg") await closeUnused(database);
  }
}
