import { assert, assertEquals, assertRejects } from "@std/assert";
import { getMigrationStatus, MigrationError } from "../../../database/migrate.ts";
import { runMigrations } from "../../../database/mod.ts";
import { sql } from "../../../database/orm.ts";
import { createTestDatabase } from "../../../testing/mod.ts";

Deno.test("getMigrationStatus() names a migration that began and has not ended, until it has", async () => {
  const migrationsFolder = await Deno.makeTempDir();
  const test = await createTestDatabase();
  const target = { migrationsFolder, database: test.config };
  try {
    const text =
      "-- trellis: no-transaction\nCREATE TABLE a (id int);\nCREATE TABLE b (id int);\nCREATE TABLE c (id int);";
    await Deno.writeTextFile(`${migrationsFolder}/0001_three.sql`, text);
    assertEquals((await getMigrationStatus(target)).unfinished, []);
    await test.db.execute(sql`CREATE TABLE c (id int)`);
    await assertRejects(
      () => runMigrations(target),
      MigrationError,
      "0001_three.sql:4 failed at statement 3",
    );
    const { pending, unfinished = [] } = await getMigrationStatus(target);
    assertEquals(pending, ["0001_three"]);
    assertEquals(unfinished.map(({ tag, statementsDone }) => [tag, statementsDone]), [[
      "0001_three",
      2,
    ]]);
    assert(
      Math.abs(unfinished[0].notedAt.getTime() - Date.now()) < 3_600_000,
      String(unfinished[0].notedAt),
    );
    await test.db.execute(sql`DROP TABLE c`);
    await runMigrations(target);
    assertEquals((await getMigrationStatus(target)).unfinished, []);
  } finally {
    await test.close();
    await Deno.remove(migrationsFolder, { recursive: true });
  }
});
