import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertNotStrictEquals,
  assertRejects,
  assertStrictEquals,
} from "@std/assert";
import { pgTable, text } from "drizzle-orm/pg-core";
import { getMigrationStatus } from "../../../database/migrate.ts";
import {
  closeDrizzleClient,
  type DatabaseConfig,
  executeRows,
  getDrizzleClient,
  onConnectionInvalidated,
} from "../../../database/mod.ts";
import type { ConnectionInvalidation } from "../../../database/types.ts";
import { openShared } from "../../../database/providers/client.ts";
import { sql } from "../../../database/orm.ts";
import { ConfigurationError } from "../../../errors/mod.ts";
import { setLogOutput } from "../../../observability/mod.ts";
import { freePort } from "../../support/free_port.ts";
import { getDirectConfig } from "../../support/postgres.ts";

const notes = pgTable("notes", { id: text("id").primaryKey() });
const config: DatabaseConfig = {
  provider: "embedded-pg",
  connectionString: "memory://client",
  instrument: false,
};

Deno.test("getDrizzleClient() gives racing calls one client, and a new one after closing", async () => {
  const [a, b] = await Promise.all([getDrizzleClient(config), getDrizzleClient({ ...config })]);
  assertStrictEquals(a, b);
  await closeDrizzleClient(config);
  const c = await getDrizzleClient(config);
  assertNotStrictEquals(a, c);
  await closeDrizzleClient(config);
});

Deno.test("getDrizzleClient() gives clients with different schemas one database", async () => {
  const schema = { notes };
  const plain = await getDrizzleClient(config);
  await plain.execute(sql`CREATE TABLE notes (id text PRIMARY KEY)`);
  await plain.execute(sql`INSERT INTO notes VALUES ('n1')`);
  const typed = await getDrizzleClient({ ...config, schema });
  assertNotStrictEquals(plain as unknown, typed as unknown);
  assertStrictEquals(typed, await getDrizzleClient({ ...config, schema }));
  assertEquals(await typed.query.notes.findMany(), [{ id: "n1" }]);
  await closeDrizzleClient(config);
});

Deno.test("getDrizzleClient() does not keep a start that failed", async () => {
  const folder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${folder}/file`, "no folder");
  const broken: DatabaseConfig = { ...config, connectionString: `${folder}/file/db` };
  const errors = await Promise.allSettled([getDrizzleClient(broken), getDrizzleClient(broken)]);
  assert(errors.every((result) => result.status === "rejected"));
  await Deno.remove(`${folder}/file`);
  const db = await getDrizzleClient(broken);
  assertEquals(await executeRows(db, sql`select 1 as one`), [{ one: 1 }]);
  await closeDrizzleClient(broken);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("getDrizzleClient() refuses a wrong configuration before it opens anything", async () => {
  const error = await assertRejects(() =>
    getDrizzleClient({ provider: "embedded-pg", maxConnections: 0 })
  );
  assertInstanceOf(error, ConfigurationError);
});

Deno.test("getDrizzleClient() measures a connection unless instrument is false", async () => {
  const lines: string[] = [];
  const restore = setLogOutput((text) => void lines.push(text));
  const measured: DatabaseConfig = {
    provider: "embedded-pg",
    connectionString: "memory://measured",
  };
  try {
    await getDrizzleClient(measured);
    await getDrizzleClient(measured);
    await getDrizzleClient({ ...config, connectionString: "memory://not-measured" });
  } finally {
    restore();
    await closeDrizzleClient(measured);
    await closeDrizzleClient({ ...config, connectionString: "memory://not-measured" });
  }
  assertEquals(lines.length, 1);
  const metric = JSON.parse(lines[0]);
  assertEquals([metric.provider, metric.DatabaseConnectErrors], ["embedded-pg", undefined]);
});

Deno.test("closeDrizzleClient() closes the client that was opened first when it gets no configuration", async () => {
  const first = await getDrizzleClient({ ...config, connectionString: "memory://first" });
  const second = await getDrizzleClient({ ...config, connectionString: "memory://second" });
  await closeDrizzleClient();
  await assertRejects(() => first.execute(sql`select 1`));
  await second.execute(sql`select 1`);
  await closeDrizzleClient();
  await assertRejects(() => second.execute(sql`select 1`));
  await closeDrizzleClient();
});

Deno.test("onConnectionInvalidated() reports a closed client until it is unregistered", async () => {
  const events: ConnectionInvalidation[] = [];
  const unregister = onConnectionInvalidated((event) => void events.push(event));
  await getDrizzleClient(config);
  await closeDrizzleClient(config);
  await closeDrizzleClient(config);
  assertEquals(events, [{ provider: "embedded-pg", reason: "closed" }]);
  unregister();
  await getDrizzleClient(config);
  await closeDrizzleClient(config);
  assertEquals(events.length, 1);
});

Deno.test("onConnectionInvalidated() goes on when a callback throws", async () => {
  const lines: string[] = [];
  const restore = setLogOutput((text) => void lines.push(text));
  const seen: string[] = [];
  const unregister = [
    onConnectionInvalidated(() => {
      throw new Error("broken callback");
    }),
    onConnectionInvalidated(({ reason }) => void seen.push(reason)),
  ];
  try {
    await getDrizzleClient(config);
    await closeDrizzleClient(config);
  } finally {
    restore();
    unregister.forEach((remove) => remove());
  }
  assertEquals(seen, ["closed"]);
  assert(lines.some((line) => line.includes("broken callback")));
});

Deno.test("openShared() without the check connects nothing; the first client on it is checked", async () => {
  const unreachable: DatabaseConfig = {
    provider: "serverless-pg",
    // a port that nothing listens on: the system gave it out and got it back
    connectionString: `postgres://reader:not-shown@127.0.0.1:${freePort()}/notes`,
    instrument: false,
  };
  const connection = await openShared(unreachable, { check: false });
  assertStrictEquals(await openShared(unreachable, { check: false }), connection);
  for (const open of [getDrizzleClient, getDrizzleClient]) {
    const error = await assertRejects(() => open(unreachable));
    assertEquals((error as { code?: string }).code, "ECONNREFUSED");
  }
  assertNotStrictEquals(await openShared(unreachable, { check: false }), connection);
  await closeDrizzleClient(unreachable);
});

Deno.test("getMigrationStatus() says that a database cannot be reached, and not that its session was lost", async () => {
  const connectionString = `postgres://reader:not-shown@127.0.0.1:${freePort()}/notes`;
  const migrationsFolder = await Deno.makeTempDir();
  await Deno.writeTextFile(`${migrationsFolder}/0001_notes.sql`, "CREATE TABLE notes (id int);");
  const database = getDirectConfig(connectionString);
  const error = await assertRejects(() => getMigrationStatus({ migrationsFolder, database }));
  assertEquals((error as { code?: string }).code, "ECONNREFUSED");
  await Deno.remove(migrationsFolder, { recursive: true });
});

Deno.test("getDrizzleClient() knows a configuration by its values, and a changed one for another", async () => {
  const mutable: DatabaseConfig = { ...config, connectionString: "memory://known-a" };
  const first = await getDrizzleClient(mutable);
  assertStrictEquals(await getDrizzleClient({ ...mutable }), first);
  mutable.connectionString = "memory://known-b";
  assertNotStrictEquals(await getDrizzleClient(mutable), first);
  const wrong = { ...mutable, typo: 1 } as DatabaseConfig;
  assertInstanceOf(await assertRejects(() => getDrizzleClient(wrong)), ConfigurationError);
  delete (mutable as Partial<DatabaseConfig>).provider;
  assertInstanceOf(await assertRejects(() => getDrizzleClient(mutable)), ConfigurationError);
  await closeDrizzleClient({ ...config, connectionString: "memory://known-a" });
  await closeDrizzleClient({ ...config, connectionString: "memory://known-b" });
});
