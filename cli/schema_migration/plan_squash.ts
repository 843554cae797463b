import type { PGlite } from "@electric-sql/pglite";
import type { MigrationFile } from "../../database/migrations/files.ts";
import { SQUASHED } from "../../database/migrations/squashed.ts";
import { type Catalog, getLabel, quoteTable } from "./catalog.ts";
import { listCreated } from "./created_objects.ts";
import { NO_DECISIONS } from "./decisions.ts";
import { compareObjects, describeDifference, readObjects } from "./database_objects.ts";
import { settle } from "./plan_difference.ts";
import { readCatalog } from "./read_catalog.ts";
import { withMigrated } from "./replay.ts";

/** Plan of one migration in place of several. */
export interface SquashPlan {
  /** The text of the file. */
  readonly sql: string;
  /** Why it would not lead to the same database. */
  readonly problems: readonly string[];
}

/** Schema of the records of the embedded database. */
const RECORDS = "orm";

/**
 * Plans one migration that creates the database of several. Both run in an embedded database in
 * memory, and must create the same objects.
 *
 * @param files The migrations from the first one on.
 * @throws {MigrationError} If a migration does not run.
 * @throws {ConfigurationError} If PGlite is not installed.
 */
export async function planSquash(files: readonly MigrationFile[]): Promise<SquashPlan> {
  const long = await withMigrated(files, async (database) => {
    const catalog = await readCatalog(database);
    return {
      objects: await readObjects(database, catalog),
      catalog: withoutRecords(catalog),
      problems: await findRows(database),
    };
  });
  return await withMigrated([], async (database) => {
    const definitions = (kind: string) =>
      [...long.objects].filter(([label]) => label.startsWith(`${kind} `)).map(([, sql]) => sql);
    const problems = [...long.problems];
    async function run(statements: readonly string[]): Promise<string[]> {
      for (const sql of statements) {
        await database.exec(sql).catch((error: Error) =>
          problems.push(`PostgreSQL refuses ${sql}: ${error.message}`)
        );
      }
      return statements.map((sql) => sql.trim());
    }
    const functions = definitions("function");
    // their bodies name tables that do not exist yet
    const before = functions.length === 0 ? [] : ["SET check_function_bodies = off", ...functions];
    const statements = await run(before);
    const created = await settle(database, {
      want: long.catalog,
      created: listCreated(long.catalog),
      concurrent: new Set(),
      decisions: NO_DECISIONS,
      isPartial: false,
    });
    problems.push(...created.problems);
    statements.push(...created.steps.map(({ sql }) => sql), ...await run(definitions("trigger")));
    problems.push(
      ...compareObjects(await readObjects(database), long.objects)
        .filter(({ label }) => label !== `schema ${RECORDS}`)
        .map((each) => describeDifference(each, "the squashed file", "the migrations")),
    );
    const head = files.map(({ tag, hash }) => `${SQUASHED}${tag} ${hash}`);
    return { sql: `${head.join("\n")}\n${statements.join(";\n\n")};\n`, problems };
  });
}

function withoutRecords(catalog: Catalog): Catalog {
  return { ...catalog, schemas: catalog.schemas.filter((name) => name !== RECORDS) };
}

/** Finds tables in which the migrations insert rows, which the squashed file would not have. */
async function findRows(database: PGlite): Promise<string[]> {
  const problems: string[] = [];
  for (const table of (await readCatalog(database)).tables) {
    const { rows } = await database.query(`SELECT FROM ${quoteTable(table)} LIMIT 1`);
    if (rows.length === 0) continue;
    problems.push(
      `the migrations insert rows into ${getLabel(table)}, which a squashed file would not have: ` +
        "squash up to the file before with --to",
    );
  }
  return problems;
}
