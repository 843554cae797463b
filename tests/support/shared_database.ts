import type { Connection, DedicatedSession } from "../../database/providers/provider.ts";
import { openShared } from "../../database/client.ts";
import { createTestDatabase } from "../../testing/database.ts";

/** Drops what a test has made, and forgets what it has set. */
const RESET = [
  "DISCARD ALL",
  `DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT nspname FROM pg_namespace
      WHERE nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%' LOOP
      EXECUTE format('DROP SCHEMA %I CASCADE', name);
    END LOOP;
  END $$`,
  "CREATE SCHEMA public AUTHORIZATION pg_database_owner",
  "GRANT USAGE ON SCHEMA public TO PUBLIC",
];

/** Objects of users outside of schemas, which `RESET` leaves behind. */
const LEFT = `SELECT FROM pg_authid WHERE oid >= 16384
  UNION ALL SELECT FROM pg_database WHERE oid >= 16384
  UNION ALL SELECT FROM pg_class WHERE oid >= 16384
  UNION ALL SELECT FROM pg_proc WHERE oid >= 16384
  UNION ALL SELECT FROM pg_extension WHERE oid >= 16384
  UNION ALL SELECT FROM pg_event_trigger
  UNION ALL SELECT FROM pg_publication
  UNION ALL SELECT FROM pg_largeobject_metadata`;

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
    isEmpty = await reset(session).catch(() => false);
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

async function reset(session: DedicatedSession): Promise<boolean> {
  for (const statement of RESET) await session.query(statement);
  return (await session.query(LEFT)).length === 0;
}
