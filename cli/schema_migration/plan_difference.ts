import type { PGlite } from "@electric-sql/pglite";
import { getTableConfig } from "drizzle-orm/pg-core";
import { runMigrations } from "../../database/migrations/run.ts";
import { openTestDatabase } from "../../testing/embedded_database.ts";
import { type Catalog, getLabel } from "./catalog.ts";
import { compareCatalogs } from "./compare_catalogs.ts";
import { listCreateStatements } from "./create_statements.ts";
import { type DeclaredObjects, findDeclaredObjects } from "./declared_objects.ts";
import type { Decisions } from "./decisions.ts";
import type { Difference, Step } from "./difference.ts";
import { readCatalog, readSchemaCatalog } from "./read_catalog.ts";
import { planRename } from "./rename_steps.ts";

/** Options of {@link planDifference}. */
export interface DifferenceOptions {
  /** Absolute path of the migrations; `undefined` if there are none. */
  readonly migrationsFolder: string | undefined;
  /** Exported values of the modules that declare the schema. */
  readonly exports: readonly unknown[];
  readonly decisions: Decisions;
}

/**
 * Plans the statements that lead from the migrations to a drizzle schema. The migrations and the
 * statements run in an embedded database in memory. Its catalog is compared with that of
 * the schema until nothing is left to do, so the statements are known to lead there.
 *
 * @returns The statements and what needs a decision.
 * @throws {MigrationError} If the migrations fail.
 * @throws {ConfigurationError} If PGlite is not installed, or PostgreSQL refuses the
 * schema.
 */
export async function planDifference(options: DifferenceOptions): Promise<Difference> {
  const { migrationsFolder, exports, decisions } = options;
  const declared = findDeclaredObjects(exports);
  const created = listCreateStatements(declared);
  const test = await openTestDatabase({});
  try {
    if (migrationsFolder !== undefined) {
      await runMigrations({ migrationsFolder, database: test.config });
    }
    const database = (test.db as typeof test.db & { $client: PGlite }).$client;
    const problems = await findMissingPolicies(database, declared);
    if (problems.length > 0) return { steps: [], problems, kept: [] };
    const before = await readCatalog(database);
    const all = await readSchemaCatalog(database, before, created);
    return await settle(database, {
      want: withoutReferenced(all, declared),
      created,
      decisions,
    });
  } finally {
    await test.close();
  }
}

interface Settling {
  readonly want: Catalog;
  readonly created: readonly string[];
  readonly decisions: Decisions;
}

/** Finds declared policies that no migration creates. Their conditions are not compared. */
async function findMissingPolicies(
  database: PGlite,
  { policies }: DeclaredObjects,
): Promise<string[]> {
  const { rows } = await database.query<{ name: string }>(
    "SELECT policyname AS name FROM pg_policies",
  );
  const present = new Set(rows.map(({ name }) => name));
  return policies.filter((name) => !present.has(name)).map((name) =>
    `the policy ${name} is in no migration: write it by hand (CREATE POLICY)`
  );
}

/** Leaves out tables that only foreign keys name: other modules or packages declare them. */
function withoutReferenced(catalog: Catalog, { referenced }: DeclaredObjects): Catalog {
  const others = new Set(referenced.map((table) => {
    const { schema = "public", name } = getTableConfig(table);
    return getLabel({ schema, name });
  }));
  return { ...catalog, tables: catalog.tables.filter((table) => !others.has(getLabel(table))) };
}

/** Rounds until nothing is left: a dropped column also drops indexes that the schema declares. */
const MAX_ROUNDS = 4;

async function settle(database: PGlite, options: Settling): Promise<Difference> {
  const { want, created, decisions } = options;
  const steps: Step[] = [];
  for (const rename of decisions.renames) {
    const step = planRename(await readCatalog(database), want, rename);
    const problem = typeof step === "string" ? step : await tryStep(database, step);
    if (problem !== undefined) return { steps: [], problems: [problem], kept: [] };
    steps.push(step as Step);
  }
  const renamed = await readCatalog(database);
  const unknown = findUnknown(renamed, decisions);
  if (unknown.length > 0) return { steps: [], problems: unknown, kept: [] };
  let have = renamed;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { steps: next, problems, kept } = compareCatalogs({ have, want, created, decisions });
    if (problems.length > 0) return { steps: [], problems, kept };
    if (next.length === 0) return { steps, problems: [], kept };
    for (const step of dedupe(next)) {
      const problem = await tryStep(database, step);
      if (problem !== undefined) return { steps: [], problems: [problem], kept };
      steps.push(step);
    }
    have = await readCatalog(database);
  }
  const { steps: [left] } = compareCatalogs({ have, want, created, decisions });
  return left === undefined ? { steps, problems: [], kept: [] } : {
    steps: [],
    problems: [`the difference cannot be resolved: ${left.sql} is needed again. Write it by hand`],
    kept: [],
  };
}

async function tryStep(database: PGlite, { sql }: Step): Promise<string | undefined> {
  try {
    await database.exec(sql);
    return undefined;
  } catch (error) {
    return `PostgreSQL refuses ${sql}: ${(error as Error).message}. Write this change by hand`;
  }
}

function dedupe(steps: readonly Step[]): Step[] {
  return [...new Map(steps.map((step) => [step.sql, step])).values()];
}

/** Finds names of `--drop` and `--keep` that the migrations do not create. */
function findUnknown({ tables }: Catalog, { drops, keeps }: Decisions): string[] {
  const labels = new Set(tables.flatMap((table) => {
    const name = getLabel(table);
    return [
      name,
      ...table.columns.map((column) => `${name}.${column.name}`),
      ...table.rules.map((rule) => `${name}:${rule.name}`),
    ];
  }));
  return [...drops, ...keeps].filter((label) => !labels.has(label)).map((label) =>
    `the migrations create no ${label}: name a table, a column as table.column, or an index ` +
    "or constraint as table:name"
  );
}
