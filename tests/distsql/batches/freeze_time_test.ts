import { assertEquals } from "@std/assert";
import { freezeTime, readsTime } from "../../../distsql/batches/batched_change.ts";
import { withMigrationLab } from "../../database/migrations/migration_support.ts";

const MOMENT = "2026-11-22 08:15:30.123456+00";

Deno.test("freezeTime() writes one moment in place of every way to ask for the time", async () => {
  const cases: [expression: string, expected: string][] = [
    ["now()", "2026-11-22 08:15:30.123456+00"],
    ["pg_catalog.now()", "2026-11-22 08:15:30.123456+00"],
    ['"now" ( )', "2026-11-22 08:15:30.123456+00"],
    ["transaction_timestamp()", "2026-11-22 08:15:30.123456+00"],
    ["STATEMENT_TIMESTAMP()", "2026-11-22 08:15:30.123456+00"],
    ["CURRENT_TIMESTAMP", "2026-11-22 08:15:30.123456+00"],
    ["current_timestamp(2)", "2026-11-22 08:15:30.12+00"],
    ["LOCALTIMESTAMP", "2026-11-22 08:15:30.123456"],
    ["localtimestamp(0)", "2026-11-22 08:15:30"],
    ["CURRENT_DATE", "2026-11-22"],
    ["CURRENT_TIME(1)", "08:15:30.1+00"],
    ["LOCALTIME", "08:15:30.123456"],
  ];
  await withMigrationLab({ setup: ["SET TIME ZONE 'UTC'"] }, async ({ rows }) => {
    for (const [expression, expected] of cases) {
      const frozen = freezeTime(
        `SELECT (${expression})::text AS v, pg_typeof(${expression})::text AS t`,
        MOMENT,
      );
      const [plain] = await rows(`SELECT pg_typeof(${expression})::text AS t`);
      assertEquals(await rows(frozen), [{ v: expected, t: plain.t }], expression);
    }
  });
});

Deno.test("freezeTime() leaves names, texts and other clocks alone", () => {
  for (
    const sql of [
      "SELECT t.now, now FROM t",
      "SELECT 'now()', \"current_date\" -- now()",
      "SELECT clock_timestamp()",
    ]
  ) {
    assertEquals([freezeTime(sql, MOMENT), readsTime(sql)], [sql, false]);
  }
  assertEquals(readsTime("UPDATE t SET at = CURRENT_DATE"), true);
});
