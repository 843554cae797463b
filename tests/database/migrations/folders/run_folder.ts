import type postgres from "postgres";
import { MigrationPlanError, type PlanFinding } from "../../../../database/migrate.ts";
import { type DatabaseConfig, runMigrations } from "../../../../database/mod.ts";
import type { GeneratedFolder } from "./generate_folder.ts";
import { withTempFolder } from "../../../support/temp_folder.ts";

/** The choices of the translation under which the folders run. */
export const CHOICES = { enums: "check", numeric: { precision: 38, scale: 10 } } as const;

/** How a folder ended on the distributed engine. */
export type FolderOutcome =
  | { readonly end: "done" }
  /** Planning refused it, and nothing was run. */
  | { readonly end: "planning"; readonly findings: readonly PlanFinding[] }
  /** It was refused in the middle of the run. */
  | { readonly end: "mid-run"; readonly message: string };

/** Runs a folder. */
export async function runFolder(
  { files }: GeneratedFolder,
  database: DatabaseConfig,
): Promise<FolderOutcome> {
  try {
    await withTempFolder(
      files,
      (migrationsFolder) => runMigrations({ migrationsFolder, database, translation: CHOICES }),
    );
    return { end: "done" };
  } catch (error) {
    if (error instanceof MigrationPlanError) return { end: "planning", findings: error.findings };
    return { end: "mid-run", message: getMessages(error) };
  }
}

/** What an error says, and what its causes say. */
function getMessages(error: unknown): string {
  const parts: string[] = [];
  for (let link = error; link instanceof Error && parts.length < 5; link = link.cause) {
    parts.push(link.message);
  }
  return parts.join(" <- ");
}

/** Empties a database of everything that migrations made. */
export async function emptyDatabase(sql: postgres.Sql): Promise<void> {
  await sql.unsafe(
    "DROP SCHEMA IF EXISTS orm CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO public",
  );
}

/** Columns whose values differ from run to run. */
const RANDOM_DEFAULT = /gen_random_uuid|now\(\)/;

/** The rows of every table, each as sorted JSON texts, by the table's name. */
export async function readRows(sql: postgres.Sql): Promise<Map<string, string[]>> {
  const tables = await sql<{ name: string; columns: string[] }[]>`
    SELECT c.relname AS name, array_agg(a.attname ORDER BY a.attname) AS columns FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
      AND coalesce(pg_get_expr(d.adbin, d.adrelid), '') !~ ${RANDOM_DEFAULT.source}
    GROUP BY c.relname`;
  const rows = new Map<string, string[]>();
  for (const { name, columns } of tables) {
    const list = columns.map((column) => `"${column}"`).join(", ");
    const found = await sql.unsafe(
      `SELECT to_jsonb(t) AS row FROM (SELECT ${list} FROM "${name}") AS t`,
    );
    rows.set(name, found.map(({ row }) => normalize(row)).sort());
  }
  return rows;
}

function normalize(row: Record<string, unknown>): string {
  return JSON.stringify(Object.keys(row).sort().map((key) => [key, row[key]]));
}
