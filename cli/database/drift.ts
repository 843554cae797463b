import { nameTables, readApplied } from "../../database/migrations/history.ts";
import { readMigrationFolder } from "../../database/migrations/folder.ts";
import { planMigrations } from "../../database/migrations/plan.ts";
import type { MigrationTarget } from "../../database/migrations/run.ts";
import { withSession } from "../../database/providers/client.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { SqlSession } from "../../sql/session.ts";
import type { Catalog } from "../schema_migration/catalog.ts";
import { compareCatalogs } from "../schema_migration/compare_catalogs.ts";
import { listCreated } from "../schema_migration/created_objects.ts";
import {
  compareObjects,
  type DatabaseObjects,
  describeDifference,
  readObjects,
  restoreObject,
  toPortable,
} from "../schema_migration/database_objects.ts";
import { listLabels } from "../schema_migration/plan_difference.ts";
import { type Queryable, readCatalog } from "../schema_migration/read_catalog.ts";
import { withMigrated } from "../schema_migration/replay.ts";

/** How the objects of a database differ from those of its migrations. */
export interface Drift {
  /** One sentence for each object. */
  readonly differences: readonly string[];
  /** Statements that lead back to the migrations. */
  readonly statements: readonly string[];
  /** Differences that need a statement written by hand. */
  readonly problems: readonly string[];
}

/** Schema of the records of the embedded database. */
const RECORDS = "orm";

/** Reads with the session of a database. */
export function toQueryable(session: SqlSession): Queryable {
  return { query: async <Row>(text: string) => ({ rows: await session.query(text) as Row[] }) };
}

/**
 * Describes how the objects of a database differ from those that its applied migrations create in an
 * embedded PostgreSQL.
 *
 * @returns One sentence for each object.
 */
export function describeDrift(
  live: DatabaseObjects,
  migrated: DatabaseObjects,
  { migrationsSchema = RECORDS }: Pick<MigrationTarget, "migrationsSchema">,
): string[] {
  const records = [`schema ${RECORDS}`, `schema ${migrationsSchema}`];
  return compareObjects(toPortable(live), toPortable(migrated))
    .filter(({ label }) => !records.includes(label))
    .map((each) => describeDifference(each, "the database", "the migrations"));
}

/**
 * Compares the objects of a database with those of its applied migrations. Writes nothing.
 *
 * @throws {ConfigurationError} If the database is on Aurora DSQL, or PGlite is not installed.
 * @throws {MigrationError} If a migration does not run on the embedded database.
 */
export async function findDrift(target: MigrationTarget): Promise<Drift> {
  if (target.database.provider === "distsql") {
    throw new ConfigurationError(
      "Objects can be compared on PostgreSQL only: Aurora DSQL has others than the migrations",
    );
  }
  const tables = nameTables(target.migrationsTable, target.migrationsSchema);
  const folder = readMigrationFolder(target.migrationsFolder);
  const live = await withSession(target.database, async (session) => ({
    pending: planMigrations(folder, await readApplied(session, tables) ?? []).pending,
    ...await describe(toQueryable(session)),
  }));
  const applied = folder.files.filter(({ tag }) => !live.pending.includes(tag));
  const migrated = await withMigrated(applied, describe);
  const differences = describeDrift(live.objects, migrated.objects, target);
  if (differences.length === 0) return { differences, statements: [], problems: [] };
  const { steps, problems } = compareCatalogs({
    have: live.catalog,
    want: withSameViews(migrated, live),
    created: listCreated(migrated.catalog),
    concurrent: new Set(),
    decisions: { renames: [], drops: listLabels(live.catalog), keeps: new Set() },
    isPartial: true,
  });
  const others = compareObjects(live.objects, migrated.objects).flatMap(restoreObject);
  return { differences, statements: [...steps.map(({ sql }) => sql), ...others], problems };
}

interface Described {
  readonly objects: DatabaseObjects;
  readonly catalog: Catalog;
}

async function describe(database: Queryable): Promise<Described> {
  const catalog = await readCatalog(database);
  return { objects: await readObjects(database, catalog), catalog };
}

/** Takes the views as the other server prints them, where they are the same. */
function withSameViews(migrated: Described, live: Described): Catalog {
  const differing = new Set(
    compareObjects(toPortable(live.objects), toPortable(migrated.objects)).map(({ label }) =>
      label
    ),
  );
  const views = migrated.catalog.views.map((view) => {
    const same = live.catalog.views.find(({ schema, name }) =>
      schema === view.schema && name === view.name
    );
    const label = `view ${view.schema === "public" ? "" : `${view.schema}.`}${view.name}`;
    return same === undefined || differing.has(label) ? view : same;
  });
  return { ...migrated.catalog, views };
}
