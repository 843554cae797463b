import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { applyAtomic } from "../../../database/migrations/apply_pending.ts";
import { MigrationError } from "../../../database/migrations/migration_error.ts";
import type { PlannedMigration } from "../../../database/migrations/steps.ts";
import {
  connectionLost,
  heldLock,
  type MigrationLab,
  withMigrationLab,
} from "./migration_support.ts";

function planned(...statements: string[]): PlannedMigration {
  return {
    file: { tag: "0001_a", path: "0001_a.sql", hash: "h", sql: "", statements: [] },
    steps: statements.map((sql) => ({ sql, hash: sql, run: "transactional", line: 1 })),
    atomic: true,
    findings: [],
  };
}

async function state({ rows }: MigrationLab): Promise<unknown[]> {
  const [{ there }] = await rows("SELECT to_regclass('a') IS NOT NULL AS there");
  return [there, (await rows("SELECT tag FROM orm.__orm_migrations")).map(({ tag }) => tag)];
}

Deno.test("applyAtomic() applies a migration and its note together, or nothing", async () => {
  for (const fence of [undefined, "SELECT 1"]) {
    await withMigrationLab({ lock: heldLock({ fence }) }, async (lab) => {
      const broken = planned("CREATE TABLE a (id int)", "SELECT 1 / 0", "SELECT 1");
      const error = await assertRejects(() => applyAtomic(broken, lab.context), MigrationError);
      assertEquals([error.tag, error.statement], ["0001_a", 2]);
      assertStringIncludes(error.message, "0001_a.sql:1 failed at statement 2 (SQLSTATE 22012");
      assertEquals(await state(lab), [false, []]);
      await applyAtomic(planned("CREATE TABLE a (id int)"), lab.context);
      assertEquals(await state(lab), [true, ["0001_a"]]);
    });
  }
});

Deno.test("applyAtomic() says that the connection was lost, and runs nothing again", async () => {
  let transactions = 0;
  await withMigrationLab({}, async (lab) => {
    const lost = connectionLost();
    lab.context.session = {
      ...lab.session,
      transaction: () => (transactions++, Promise.reject(lost)),
    };
    const error = await assertRejects(
      () => applyAtomic(planned("SELECT 1"), lab.context),
      MigrationError,
    );
    assertEquals([error.code, error.tag, error.statement, error.cause], [
      "MIGRATION",
      "0001_a",
      undefined,
      lost,
    ]);
    assertEquals(
      error.message,
      "The connection was lost while 0001_a.sql ran: run the migrations again, they continue where they stopped",
    );
    assertEquals([transactions, await state(lab)], [1, [false, []]]);
  });
});

Deno.test("applyAtomic() writes nothing once another run took over", async () => {
  const lost = new MigrationError("another run took over");
  const lock = heldLock({ fence: "SELECT 1 WHERE false", check: () => Promise.reject(lost) });
  await withMigrationLab({ lock }, async (lab) => {
    assertEquals(
      await assertRejects(() => applyAtomic(planned("CREATE TABLE a (id int)"), lab.context)),
      lost,
    );
    assertEquals(await state(lab), [false, []]);
  });
});
