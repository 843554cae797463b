import { assertEquals, assertMatch } from "@std/assert";
import { dbTables } from "../../../cli/commands/db_tables.ts";
import { sql } from "../../../database/orm.ts";
import { createTestDatabase } from "../../../testing/mod.ts";
import { runInProcess } from "../fixtures/run.ts";

const run = (...args: string[]) =>
  runInProcess(["db", "tables", ...args], { commands: [dbTables] });

Deno.test("trellis db tables prints migrations that create the tables of each feature, twice", async () => {
  const { db, close } = await createTestDatabase();
  try {
    for (
      const [feature, table] of [
        ["changes", "trellis_change_parts"],
        ["connections", "websocket_subscriptions"],
        ["idempotency", "idempotency_records"],
        ["jobs", "trellis_jobs"],
        ["rate-limits", "rate_limits"],
        ["workflows", "trellis_workflow_entries"],
      ]
    ) {
      const { exitCode, stdout } = await run(feature);
      assertEquals(exitCode, 0, feature);
      for (
        const statement of `${stdout}--> statement-breakpoint${stdout}`.split(
          "--> statement-breakpoint",
        )
      ) {
        await db.execute(sql.raw(statement));
      }
      await db.execute(sql.raw(`select from ${table}`));
    }
  } finally {
    await close();
  }
});

Deno.test("trellis db tables names the features when there is no such one", async () => {
  const { exitCode, stderr } = await run("mails");
  assertEquals(exitCode, 2);
  assertMatch(stderr, /mails has no tables: write one of changes, connections, idempotency, jobs/);
});
