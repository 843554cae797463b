/** What the catalog decides about a step, also after a run that died in its middle. */
import { assertEquals } from "@std/assert";
import { applyStepwise } from "../../../database/migrations/apply_stepwise.ts";
import { writeStep } from "../../../database/migrations/history.ts";
import type { MigrationStep, PlannedMigration } from "../../../database/migrations/steps.ts";
import {
  connectionLost,
  type LabOptions,
  type MigrationLab,
  withMigrationLab,
} from "./migration_support.ts";

const TAG = "0001_a";
const SETUP = ["CREATE TABLE t (id int PRIMARY KEY)", "INSERT INTO t VALUES (1)"];
const ADD = "ALTER TABLE t ADD COLUMN IF NOT EXISTS c int";
const FILL = "UPDATE t SET c = 5 WHERE c IS NULL";
const NO_COLUMN = { table: '"t"', column: "c" };

function step(sql: string, more: Partial<MigrationStep> = {}): MigrationStep {
  return { sql, hash: `hash of ${sql}`, run: "transactional", line: 1, ...more };
}

function planned(...steps: MigrationStep[]): PlannedMigration {
  return {
    file: { tag: TAG, path: `${TAG}.sql`, hash: "h", sql: "", statements: [] },
    steps,
    atomic: false,
    findings: [],
  };
}

async function run(
  options: LabOptions,
  steps: MigrationStep[],
  noted?: "running",
): Promise<unknown> {
  let filled: unknown;
  await withMigrationLab(options, async ({ context, rows }: MigrationLab) => {
    if (noted !== undefined) {
      await rows(
        writeStep(context.tables, TAG, "earlier", { step: 0, hash: steps[0].hash, state: noted }),
      );
    }
    await applyStepwise(planned(...steps), context);
    const [row] = await rows("SELECT * FROM t");
    filled = row.c;
  });
  return filled;
}

const ADDITION = [
  step(ADD, { run: "standalone", ifNoColumn: NO_COLUMN }),
  step(FILL, { follows: true }),
];
const WITH_COLUMN = [...SETUP, "ALTER TABLE t ADD COLUMN c int"];

Deno.test("applyStepwise() skips an addition whole when the column was there before it", async () => {
  assertEquals(await run({ setup: WITH_COLUMN }, ADDITION), null);
});

Deno.test("applyStepwise() goes on with an addition when an earlier run died in it", async () => {
  assertEquals(await run({ setup: WITH_COLUMN }, ADDITION, "running"), 5);
});

Deno.test("applyStepwise() runs an addition whole when the column was not there", async () => {
  assertEquals(await run({ setup: SETUP }, ADDITION), 5);
});

const GUARDED = [
  step("ALTER TABLE t ADD COLUMN c int", { run: "standalone", ignores: ["42701"] }),
  step(FILL, { follows: true }),
];

Deno.test("applyStepwise() skips what completes a statement whose object was there and ignored", async () => {
  assertEquals(await run({ setup: WITH_COLUMN }, GUARDED), null);
});

Deno.test("applyStepwise() completes a statement that ignores duplicates when its own answer was lost", async () => {
  let isLost = false;
  const lost: LabOptions = {
    setup: SETUP,
    async intercept(text, work) {
      const rows = await work();
      if (!text.startsWith("ALTER TABLE t ADD") || isLost) return rows;
      isLost = true;
      throw connectionLost();
    },
  };
  assertEquals(await run(lost, GUARDED), 5);
});

Deno.test("applyStepwise() skips steps of a table that is not there", async () => {
  const steps = [
    step("UPDATE missing SET a = 1", { ifTable: '"missing"' }),
    step("ALTER TABLE t ADD c int", { run: "standalone" }),
  ];
  assertEquals(await run({ setup: SETUP }, steps), null);
});
