// deno-lint-ignore-file no-console -- the figures are part of the result
/**
 * Generated pairs of schemas on the stand-in of Aurora DSQL: the migration from one to the other leaves the
 * objects and rows that it leaves on PostgreSQL, or is refused with nothing changed.
 */
import { assert, assertEquals } from "@std/assert";
import type postgres from "postgres";
import { NO_DECISIONS } from "../../../cli/schema_migration/decisions.ts";
import { planDifference } from "../../../cli/schema_migration/plan_difference.ts";
import { readMigrationFiles } from "../../../database/migrations/folder.ts";
import { MigrationPlanError } from "../../../database/migrations/migration_error.ts";
import { causeChain } from "../../../errors/cause_chain.ts";
import { compare } from "../../database/migrations/alter/differential.ts";
import { compare as compareTranslated } from "../../database/migrations/enums/compare.ts";
import { readRows, readTables } from "../../database/migrations/alter/catalog.ts";
import { type DistSqlLab, withDistSqlLab } from "../../support/distsql_lab.ts";
import "../../support/embedded_pool.ts";
import { createRandom } from "../../support/random.ts";
import { testSeed } from "../../support/seed.ts";
import { withTempFolder } from "../../support/temp_folder.ts";
import {
  buildSchema,
  changeSchema,
  createDistSqlSchema,
  dropAll,
  hasOwnTypes,
  insertRows,
  renameColumns,
  renameTables,
  writeFirst,
  writeMigration,
} from "./random_schema.ts";

const isFull = Deno.env.get("TRELLIS_FULL_TESTS") === "1";
/** Pairs of schemas; `TRELLIS_SCHEMA_PAIRS` sets their number. */
const PAIRS = Number(Deno.env.get("TRELLIS_SCHEMA_PAIRS") ?? (isFull ? 500 : 3));

type Outcome = "equal" | "refused when planned" | "refused by rows" | "not generated";

interface Pair {
  /** Statements of both migrations, for PostgreSQL. */
  readonly statements: readonly (readonly string[])[];
  /** Texts of the files of each migration. */
  readonly files: readonly (readonly string[])[];
  /** Statements that insert rows between the migrations. */
  readonly rows: readonly string[];
  /** False if a type has another form there. */
  readonly hasOwnTypes: boolean;
}

/** Generates the migrations of a pair; `undefined` if PostgreSQL refuses one. */
async function generate(seed: number): Promise<Pair | undefined> {
  const random = createRandom(seed);
  const before = createDistSqlSchema(random);
  const changed = changeSchema(random, before);
  const rename = random.pick([undefined, renameColumns, renameTables]);
  const { after, renames } = rename?.(random, before, changed) ?? { after: changed, renames: [] };
  return await withTempFolder({}, async (migrationsFolder) => {
    const read = () => readMigrationFiles(migrationsFolder).map(({ sql }) => withFixedValues(sql));
    const first = await writeFirst(migrationsFolder, before);
    const created = read();
    const options = { migrationsFolder, exports: Object.values(buildSchema(after)) };
    const decisions = { ...NO_DECISIONS, renames };
    const asked = await planDifference({ ...options, decisions });
    const second = asked.kept.length === 0 ? asked : await planDifference({
      ...options,
      decisions: { ...decisions, drops: dropAll(asked.kept).drops },
    });
    if (second.problems.length > 0) return undefined;
    await writeMigration(migrationsFolder, "b", second);
    const files = [created, read().slice(created.length)];
    const steps = second.steps.map(({ sql }) => sql);
    return {
      statements: [first, steps],
      files,
      rows: insertRows(before, 11),
      hasOwnTypes: hasOwnTypes(before),
    };
  });
}

/** Rows of all tables, by their columns. */
async function readAll(sql: postgres.Sql): Promise<unknown> {
  const tables = await readTables(sql);
  return await Promise.all(tables.map(async (table) => [table, await readRows(sql, table)]));
}

/** Gives rows the same values on both databases. */
function withFixedValues(text: string): string {
  return text.replace(/gen_random_uuid\(\)/g, "'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid")
    .replace(/now\(\)|current_date/gi, "'2026-05-05'::date");
}

/** Aurora DSQL has no descending indexes: it reads ascending ones backwards. */
function toNative(sql: string): string {
  return withFixedValues(sql).replace(" CONCURRENTLY ", " ").replace(
    / desc nulls last/gi,
    " NULLS FIRST",
  );
}

async function runEach(
  sql: postgres.Sql,
  statements: readonly string[],
): Promise<Error | undefined> {
  try {
    for (const statement of statements) await sql.unsafe(toNative(statement));
  } catch (error) {
    return error as Error;
  }
}

async function tryPair(lab: DistSqlLab, seed: number): Promise<Outcome> {
  const pair = await generate(seed);
  if (pair === undefined) return "not generated";
  const { statements: [first, second], files: [created, changed], rows } = pair;
  await lab.clear();
  for (const sql of first) await lab.native.unsafe(toNative(sql));
  const migrate = (files: readonly string[]) =>
    lab.migrate(files, { translation: { enums: "check" } }).then(
      () => undefined,
      (error: Error) => error,
    );
  const planned = await migrate(created);
  if (planned instanceof MigrationPlanError) {
    assertEquals((await readTables(lab.backing)).length, 0);
    return "refused when planned";
  }
  if (planned !== undefined) throw planned;
  for (const sql of rows) {
    await lab.native.unsafe(sql);
    await lab.backing.unsafe(sql.replaceAll("::public.mood", ""));
  }
  const before = await readAll(lab.backing);
  const native = await runEach(lab.native, second);
  const error = await migrate([...created, ...changed]);
  if (error instanceof MigrationPlanError) {
    assertEquals(await readAll(lab.backing), before);
    return "refused when planned";
  }
  if (native !== undefined) {
    assert(error !== undefined, `PostgreSQL refuses it, and the stand-in does not: ${native}`);
    return "refused by rows";
  }
  if (error !== undefined) throw error;
  const differences = pair.hasOwnTypes
    ? await compare(lab.native, lab.backing, { seed, files: [first, second] })
    : await compareTranslated(lab.native, lab.backing, LABELS);
  assertEquals(differences, []);
  return "equal";
}

/** Labels of the enum, and one that it never has. */
const LABELS = ["angry", "calm", "glad", "shy", "wild", "other"];

const options = { sanitizeOps: false, sanitizeResources: false };

Deno.test(
  "generated migrations leave on the stand-in of Aurora DSQL what they leave on PostgreSQL, or are refused",
  options,
  async () => {
    const counts: Partial<Record<Outcome, number>> = {};
    let failures = 0;
    await withDistSqlLab(async (lab) => {
      for (let seed = testSeed; seed < testSeed + PAIRS; seed++) {
        try {
          const outcome = await tryPair(lab, seed);
          counts[outcome] = (counts[outcome] ?? 0) + 1;
        } catch (error) {
          failures++;
          console.log(
            `TRELLIS_SEED=${seed}: ${causeChain(error).map(String).join("\n  because of ")}`,
          );
        }
      }
    });
    console.log(
      `${PAIRS} pairs, TRELLIS_SEED=${testSeed}: ${JSON.stringify(counts)}, ${failures} differ`,
    );
    assertEquals(failures, 0);
    assert((counts.equal ?? 0) * 4 >= PAIRS, "too many are refused");
  },
);
