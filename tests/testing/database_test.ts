import { assertEquals, assertRejects } from "@std/assert";
import { pgTable, text } from "drizzle-orm/pg-core";
import { ConfigurationError } from "../../errors/mod.ts";
import { executeRows, getDrizzleClient } from "../../database/mod.ts";
import { sql } from "../../database/orm.ts";
import { createTestDatabase } from "../../testing/mod.ts";
import { withTempFolder } from "../support/temp_folder.ts";

const notes = pgTable("notes", { title: text("title") });

async function withMigrations(test: (folder: string) => Promise<void>): Promise<void> {
  await withTempFolder({}, async (folder) => {
    await Deno.writeTextFile(`${folder}/0001_notes.sql`, "CREATE TABLE notes (title text);");
    await Deno.writeTextFile(`${folder}/0002_first.sql`, "INSERT INTO notes VALUES ('first');");
    await test(folder);
  });
}

Deno.test("createTestDatabase() gives each test its own database", async () => {
  const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  try {
    await one.db.execute(sql`CREATE TABLE only_here (id int)`);
    const tables = await executeRows(other.db, sql`SELECT to_regclass('only_here') AS found`);
    assertEquals(tables, [{ found: null }]);
    assertEquals(await getDrizzleClient(one.config), one.db);
  } finally {
    await one.close();
    await other.close();
  }
});

Deno.test("createTestDatabase() begins with the migrations after an earlier test wrote", async () => {
  await withMigrations(async (migrationsFolder) => {
    for (let round = 0; round < 2; round++) {
      const database = await createTestDatabase({ migrationsFolder, schema: { notes } });
      try {
        assertEquals(await database.db.select().from(notes), [{ title: "first" }]);
        await database.db.insert(notes).values({ title: "second" });
        assertEquals((await database.db.query.notes.findMany()).length, 2);
      } finally {
        await database.close();
      }
    }
  });
});

Deno.test("createTestDatabase() opens an address again for the next test, and refuses it while it is open", async () => {
  await withMigrations(async (migrationsFolder) => {
    const connectionString = "memory://one-address";
    // what a function reads from its environment when it is imported
    const config = { provider: "embedded-pg", connectionString, schema: { notes } } as const;
    for (let round = 0; round < 2; round++) {
      // closed at the end of the block
      await using _database = await createTestDatabase({ migrationsFolder, connectionString });
      const db = await getDrizzleClient(config);
      assertEquals(await db.select().from(notes), [{ title: "first" }]);
      await db.insert(notes).values({ title: "second" });
      await assertRejects(
        () => createTestDatabase({ migrationsFolder, connectionString }),
        ConfigurationError,
        "A test database is open at memory://one-address: close it first",
      );
    }
    await assertRejects(
      () => createTestDatabase({ connectionString: "postgres://db.example/app" }),
      ConfigurationError,
      "it must begin with memory://",
    );
  });
});

Deno.test("createTestDatabase() applies migrations again after a file has changed", async () => {
  await withMigrations(async (migrationsFolder) => {
    await (await createTestDatabase({ migrationsFolder })).close();
    await Deno.writeTextFile(
      `${migrationsFolder}/0002_first.sql`,
      "INSERT INTO notes VALUES ('changed');",
    );
    const database = await createTestDatabase({ migrationsFolder, schema: { notes } });
    try {
      assertEquals(await database.db.select().from(notes), [{ title: "changed" }]);
    } finally {
      await database.close();
    }
  });
});

Deno.test("createTestDatabase() reports the failed migration, and retries the next time", async () => {
  await withMigrations(async (migrationsFolder) => {
    const file = `${migrationsFolder}/0003_broken.sql`;
    await Deno.writeTextFile(file, "CREATE TABLE broken (id nonsense);");
    await assertRejects(() => createTestDatabase({ migrationsFolder }), Error, "0003_broken");
    await Deno.writeTextFile(file, "CREATE TABLE broken (id int);");
    await (await createTestDatabase({ migrationsFolder })).close();
  });
});
