import type { PGlite } from "@electric-sql/pglite";
import { getTableConfig } from "drizzle-orm/pg-core";
import { runMigrations } from "../../database/migrations/run.ts";
import { quoteName } from "../../sql/quote.ts";
import { type Catalog, getLabel } from "./catalog.ts";
import { compareCatalogs } from "./compare_catalogs.ts";
import {
  listConcurrentIndexes,
  listCreateStatements,
  listTablespaces,
} from "./create_statements.ts";
import { type DeclaredObjects, findDeclaredObjects } from "./declared_objects.ts";
import type { Decisions } from "./decisions.ts";
import type { Comparison, Difference, Step } from "./difference.ts";
import {
  describeExpand,
  findExpand,
  planExpand,
  readOpenExpands,
  refuseTable,
} from "./expand_steps.ts";
import { readCatalog, readSchemaCatalog } from "./read_catalog.ts";
import { findRenamed, planRename } from "./rename_steps.ts";
import { withMigrated } from "./replay.ts";

/** Options of {@link planDifference}. */
export interface DifferenceOptions {
  /** Absolute path of the migrations; `undefined` if there are none. */
  readonly migrationsFolder: string | undefined;
  /** Exported values of the modules that declare the schema. */
  readonly exports: readonly unknown[];
  readonly decisions: Decisions;
  /**
   * True if other modules declare more tables.
   * @default false
   */
  readonly isPartial?: boolean;
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
  const { migrationsFolder, exports, decisions, isPartial = false } = options;
  const declared = findDeclaredObjects(exports);
  const created = listCreateStatements(declared);
  return await withMigrated([], async (database, config) => {
    await createTablespaces(database, declared);
    if (migrationsFolder !== undefined) {
      await runMigrations({ migrationsFolder, database: config });
    }
    const problems = await findMissingPolicies(database, declared);
    if (problems.length > 0) return { steps: [], problems, kept: [], open: [] };
    const before = await readCatalog(database);
    const all = await readSchemaCatalog(database, before, created);
    const want = withoutReferenced(all, declared);
    const concurrent = listConcurrentIndexes(declared);
    return await settle(database, { want, created, concurrent, decisions, isPartial }, before);
  });
}

type Settling = Omit<Comparison, "have" | "expands">;

/** Creates the tablespaces of the schema, so that statements which name them can run. */
async function createTablespaces(database: PGlite, declared: DeclaredObjects): Promise<void> {
  for (const name of listTablespaces(declared)) {
    await database.exec("SET allow_in_place_tablespaces = on");
    await database.exec(`CREATE TABLESPACE ${quoteName(name)} LOCATION ''`);
  }
}

/** Finds policies of no declared table that no migration creates. Their conditions are not compared. */
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

/**
 * Runs the statements that lead to another catalog, until nothing is left.
 *
 * @param database The embedded database.
 * @param before Its catalog, if it was read.
 */
export async function settle(
  database: PGlite,
  options: Settling,
  before?: Catalog,
): Promise<Difference> {
  const { want, decisions } = options;
  const steps: Step[] = [];
  const stop = (problem: string, kept: readonly string[] = []): Difference => ({
    steps: [],
    problems: [problem],
    kept,
    open: [],
  });
  const backfills: Step[] = [];
  for (const rename of decisions.renames) {
    const planned = await planRenamed(database, want, rename, decisions.isExpand);
    if (typeof planned === "string") return stop(planned);
    for (const step of planned) {
      const done = await tryStep(database, step);
      if (typeof done === "string") return stop(done);
      (done.isBackfill === true ? backfills : steps).push(done);
    }
  }
  steps.push(...backfills);
  let have = decisions.renames.length === 0 && before || await readCatalog(database);
  const unknown = findUnknown(have, decisions);
  if (unknown.length > 0) return { steps: [], problems: unknown, kept: [], open: [] };
  let expands = await readOpenExpands(database);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { steps: next, problems, kept, open } = compareCatalogs({ have, expands, ...options });
    if (problems.length > 0) return { steps: [], problems, kept, open };
    if (next.length === 0) return { steps, problems: [], kept, open };
    for (const step of dedupe(next)) {
      const done = await tryStep(database, step);
      if (typeof done === "string") return stop(done, kept);
      steps.push(done);
    }
    have = await readCatalog(database);
    expands = await readOpenExpands(database);
  }
  const { steps: [left], open } = compareCatalogs({ have, expands, ...options });
  return left === undefined
    ? { steps, problems: [], kept: [], open }
    : stop(`the difference cannot be resolved: ${left.sql} is needed again. Write it by hand`);
}

/** Plans what a decision renames. Returns the statements, or why there are none. */
async function planRenamed(
  database: PGlite,
  want: Catalog,
  rename: readonly [string, string],
  isExpand = false,
): Promise<Step[] | string> {
  const have = await readCatalog(database);
  const renamed = findRenamed(have, want, rename);
  if (typeof renamed === "string") return renamed;
  if ("old" in renamed) {
    const open = findExpand(await readOpenExpands(database), renamed.table, renamed.old.name);
    if (open !== undefined) return `--rename ${rename.join("=")}: ${describeExpand(open)}`;
    return isExpand ? await planExpand(database, renamed) : planRename(have, renamed);
  }
  return isExpand ? refuseTable(renamed) : planRename(have, renamed);
}

/** Runs a step. Returns the step that ran, or why PostgreSQL refuses it. */
async function tryStep(database: PGlite, step: Step): Promise<Step | string> {
  const { fallback, ...own } = step;
  const { sql } = own;
  try {
    await database.exec(sql);
    return own;
  } catch (error) {
    if (fallback !== undefined) return await tryStep(database, fallback);
    return `PostgreSQL refuses ${sql}: ${(error as Error).message}. Write this change by hand`;
  }
}

function dedupe(steps: readonly Step[]): Step[] {
  return [...new Map(steps.map((step) => [step.sql, step])).values()];
}

/** Lists the names that `--drop` can have. */
export function listLabels({ tables, views, sequences }: Catalog): Set<string> {
  return new Set([
    ...tables.flatMap((table) => {
      const name = getLabel(table);
      return [
        name,
        ...table.columns.map((column) => `${name}.${column.name}`),
        // a serial column that becomes another one leaves its sequence
        ...table.columns.flatMap(({ ownSequence }) =>
          ownSequence === null ? [] : getLabel(ownSequence)
        ),
        ...table.rules.map((rule) => `${name}:${rule.name}`),
      ];
    }),
    ...views.flatMap((view) =>
      Object.keys(view.options).map((option) => `${getLabel(view)}:${option}`)
    ),
    ...sequences.map(getLabel),
  ]);
}

/** Finds names of `--drop` and `--keep` that the migrations do not create. */
function findUnknown(catalog: Catalog, { drops, keeps }: Decisions): string[] {
  const labels = listLabels(catalog);
  return [...drops, ...keeps].filter((label) => !labels.has(label)).map((label) =>
    `the migrations create no ${label}: name a table, a sequence, a column as table.column, or an ` +
    "index, a constraint or an option of a view as table:name"
  );
}
