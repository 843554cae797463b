// deno-lint-ignore-file no-console -- the figures are part of the result
/** Folders of enum and serial changes, each on PostgreSQL and through runMigrations on the provider's stand-in. */
import { assertEquals } from "@std/assert";
import type postgres from "postgres";
import { causeChain } from "../../../errors/cause_chain.ts";
import { MigrationPlanError } from "../../../database/migrations/migration_error.ts";
import { type DistSqlLab, withDistSqlLab } from "../../support/distsql_lab.ts";
import { EnumFolders } from "./enums/enum_folders.ts";
import { compare } from "./enums/compare.ts";
import { createRandom, type Random } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";

const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
const COUNT = Number(Deno.env.get("TRELLIS_ENUM_FOLDERS") ?? (isFull ? 1000 : 12));
const SEED = testSeed;

async function clearNative(native: postgres.Sql): Promise<void> {
  await native.unsafe(
    "DROP SCHEMA IF EXISTS public, app CASCADE; CREATE SCHEMA public; CREATE SCHEMA app",
  );
}

async function clear(lab: DistSqlLab): Promise<void> {
  await lab.clear();
  await clearNative(lab.native);
  await lab.backing.unsafe("DROP SCHEMA IF EXISTS app CASCADE");
}

/** Draws changes and keeps the statements that PostgreSQL takes, in files. */
async function generate(
  native: postgres.Sql,
  folders: EnumFolders,
  random: Random,
): Promise<string[][]> {
  const files: string[][] = [["CREATE SCHEMA IF NOT EXISTS app"]];
  const changes = 4 + random.below(12);
  for (let i = 0; i < changes; i++) {
    if (random.chance(0.4)) files.push([]);
    for (const statement of folders.next()) {
      try {
        await native.unsafe(statement);
        files.at(-1)!.push(statement);
      } catch {
        // PostgreSQL refuses it: not part of the folder
      }
    }
  }
  // a statement that was refused may have moved a sequence
  await clearNative(native);
  for (const statement of files.flat()) await native.unsafe(statement);
  return files.filter((file) => file.length > 0);
}

function show(seed: number, files: readonly string[][]): string {
  return `seed ${seed}\n${
    files.map((file, at) => `-- file ${at + 1}\n${file.join(";\n")};`).join("\n")
  }`;
}

/** Warnings that a statement compares texts; that a column or an index does so is said of the application's queries. */
const COMPARES_TEXT =
  /: the enum .* is ordered by position, but text is ordered alphabetically(?!\. Queries)/;

async function runFolder(lab: DistSqlLab, seed: number): Promise<"equal" | "refused" | "warned"> {
  await clear(lab);
  const random = createRandom(seed);
  const files = await generate(lab.native, new EnumFolders(random), random);
  const texts = files.map((statements) =>
    statements.map((one) => `${one};\n`).join("--> statement-breakpoint\n")
  );
  let isWarned = false;
  try {
    const { warnings } = await lab.migrate(texts, { translation: { enums: "check" } });
    isWarned = warnings.some((warning) => COMPARES_TEXT.test(warning));
  } catch (error) {
    if (error instanceof MigrationPlanError) {
      if (Deno.env.get("TRELLIS_SHOW_REFUSED")) console.log(error.message.slice(0, 300));
      return "refused";
    }
    throw new Error(
      `${causeChain(error).map(String).join("\n  because of ")}\n${show(seed, files)}`,
      { cause: error },
    );
  }
  const differences = await compare(lab.native, lab.backing, EnumFolders.labels);
  if (differences.length > 0 && isWarned) return "warned";
  assertEquals(differences, [], `${differences.join("\n")}\n${show(seed, files)}`);
  return "equal";
}

const options = { sanitizeOps: false, sanitizeResources: false };
const NAME =
  "runMigrations() leaves rows, accepted labels and names as PostgreSQL after changes of enums, or refuses them";

Deno.test(NAME, options, async () => {
  await withDistSqlLab(async (lab) => {
    console.log(`folders of enum changes: TRELLIS_SEED=${SEED}, ${COUNT} of them`);
    const count = { equal: 0, refused: 0, warned: 0 };
    let failures = 0;
    for (let at = 0; at < COUNT; at++) {
      try {
        count[await runFolder(lab, SEED + at)]++;
      } catch (error) {
        failures++;
        console.log(`${(error as Error).message}\n`);
      }
    }
    const { equal, refused, warned } = count;
    console.log(
      `${COUNT} folders: ${equal} equal, ${refused} refused at planning, ${warned} warned, ${failures} differ`,
    );
    assertEquals(failures, 0);
  });
});
