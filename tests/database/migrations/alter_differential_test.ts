// deno-lint-ignore-file no-console -- the figures are part of the result
/** Sequences of ALTER TABLE, each on PostgreSQL and through runMigrations on the provider's stand-in. */
import { assertEquals } from "@std/assert";
import { MigrationPlanError } from "../../../database/migrations/migration_error.ts";
import { causeChain } from "../../../errors/cause_chain.ts";
import { type DistSqlLab, withDistSqlLab } from "../../support/distsql_lab.ts";
import { readTables } from "./alter/catalog.ts";
import { compare, generate, show, toFiles } from "./alter/differential.ts";
import { testSeed } from "../../support/seed.ts";

const IS_FULL = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const COUNT = Number(Deno.env.get("TRELLIS_ALTER_SEQUENCES") ?? (IS_FULL ? 5000 : 0));
const SEED = testSeed;

type Outcome = "equal" | "refused";

/** Runs one sequence on both; throws what differs, with the seed and the statements. */
async function runSequence(lab: DistSqlLab, seed: number): Promise<Outcome> {
  await lab.clear();
  const sequence = await generate(lab.native, seed);
  let differences: string[];
  try {
    await lab.migrate(toFiles(sequence));
    differences = await compare(lab.native, lab.backing, sequence);
  } catch (error) {
    const isRefused = error instanceof MigrationPlanError &&
      (await readTables(lab.backing)).length === 0;
    if (isRefused) return "refused";
    throw new Error(`${causeChain(error).map(String).join("\n  because of ")}\n${show(sequence)}`, {
      cause: error,
    });
  }
  assertEquals(differences, [], `${differences.join("\n")}\n${show(sequence)}`);
  return "equal";
}

const options = { sanitizeOps: false, sanitizeResources: false };
const NAME =
  "runMigrations() leaves what PostgreSQL leaves after sequences of ALTER TABLE, or refuses them at planning";

Deno.test(NAME, options, async () => {
  await withDistSqlLab(async (lab) => {
    console.log(`sequences of ALTER TABLE: TRELLIS_SEED=${SEED}, ${COUNT} of them`);
    const count: Record<Outcome, number> = { equal: 0, refused: 0 };
    let failures = 0;
    for (let at = 0; at < COUNT; at++) {
      try {
        count[await runSequence(lab, SEED + at)]++;
      } catch (error) {
        failures++;
        console.log(`${(error as Error).message}\n`);
      }
    }
    console.log(
      `${COUNT} sequences: ${count.equal} equal, ${count.refused} refused at planning, ${failures} differ`,
    );
    assertEquals(failures, 0);
  });
});
