import type { PGlite, Transaction } from "@electric-sql/pglite";
import type { DatabaseSettings } from "../config/config.ts";
import { ConnectionSlots } from "../session/connection_slots.ts";
import { createSessionClient } from "../session/client.ts";
import { toSqlDriver } from "./embedded_pg_driver.ts";
import { loadEmbeddedSnapshot } from "./embedded_snapshot.ts";
import { loadPglite } from "./load_pglite.ts";
import type { Connection, DedicatedSession } from "./provider.ts";
import type { Row, SqlSession } from "../../sql/session.ts";

function isInMemory(folder: string): boolean {
  return folder.startsWith("memory://");
}

/**
 * Opens an embedded PostgreSQL (PGlite): one connection, in this process.
 *
 * @param config `connectionString` is a folder or `memory://`.
 * @returns The connection.
 */
export async function openEmbeddedPg(config: DatabaseSettings): Promise<Connection> {
  const { PGlite } = await loadPglite("Provider embedded-pg");
  const folder = config.connectionString ?? "memory://";
  const isNew = isInMemory(folder) || await makeFolder(folder);
  const loadDataDir = isNew ? await loadEmbeddedSnapshot() : undefined;
  const pglite = await PGlite.create(folder, { loadDataDir });
  const driver = toSqlDriver(pglite);
  const slots = new ConnectionSlots(1);
  return {
    check: () => Promise.resolve(), // creating it has proved that it works
    createClient: (schema) => createSessionClient(driver, slots, { schema }),
    openSession: () => Promise.resolve(openSession(pglite)),
    close: () => pglite.close(),
  };
}

/**
 * Creates a folder and its parents. PGlite creates only the last folder.
 *
 * @returns Whether the folder is empty.
 */
async function makeFolder(folder: string): Promise<boolean> {
  const { mkdir, readdir } = await import("node:fs/promises");
  const path = folder.replace(/^file:\/\//, "");
  await mkdir(path, { recursive: true });
  return (await readdir(path)).length === 0;
}

function toSession(target: PGlite | Transaction): SqlSession {
  return {
    async query(text, params = []): Promise<Row[]> {
      return (await target.query<Row>(text, [...params])).rows;
    },
    async script(statements): Promise<void> {
      await target.exec(statements.join(";\n"));
    },
  };
}

function openSession(pglite: PGlite): DedicatedSession {
  return {
    ...toSession(pglite),
    // clients share the session, so every client would get a lock that it takes
    keepsSession: false,
    transaction: (fn) => pglite.transaction((tx) => fn(toSession(tx))),
    close: () => Promise.resolve(),
  };
}
