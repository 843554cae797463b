import type { Connection, DedicatedSession } from "../../database/providers/provider.ts";
import { openShared } from "../../database/providers/client.ts";
import { createTestDatabase } from "../../testing/database.ts";
import "./embedded_pool.ts";

/**
 * Hands an empty embedded database to a test. The tests of a file share one, because opening one takes
 * much CPU time.
 *
 * @param test Must await everything that it sends to the database.
 */
export async function withSharedDatabase<T>(
  test: (connection: Connection, session: DedicatedSession) => Promise<T>,
): Promise<T> {
  const database = await createTestDatabase();
  try {
    const connection = await openShared(database.config);
    return await test(connection, await connection.openSession());
  } finally {
    await database.close();
  }
}
