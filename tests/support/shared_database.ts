import type { Connection, DedicatedSession } from "../../database/providers/provider.ts";
import { openShared } from "../../database/providers/client.ts";
import { createTestDatabase } from "../../testing/database.ts";
import { emptyDatabase } from "./empty_database.ts";

let opened: { connection: Connection; close: () => Promise<void> } | undefined;

Deno.test.afterAll(close);

/**
 * Hands an empty embedded database to a test. The tests of a file share one, because opening one takes
 * half a second of CPU time; it is emptied after each test, or closed if the
 * test fails or leaves something behind.
 *
 * @param test Must await everything that it sends to the database.
 */
export async function withSharedDatabase<T>(
  test: (connection: Connection, session: DedicatedSession) => Promise<T>,
): Promise<T> {
  opened ??= await open();
  const { connection } = opened;
  const session = await connection.openSession();
  let isEmpty = false;
  try {
    const result = await test(connection, session);
    isEmpty = await emptyDatabase((text) => session.query(text)).catch(() => false);
    return result;
  } finally {
    if (!isEmpty) await close();
  }
}

async function open(): Promise<{ connection: Connection; close: () => Promise<void> }> {
  const database = await createTestDatabase();
  return { connection: await openShared(database.config), close: database.close };
}

async function close(): Promise<void> {
  const closing = opened?.close();
  opened = undefined;
  await closing;
}
