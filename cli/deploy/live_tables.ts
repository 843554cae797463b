import { resolve } from "node:path";
import type { DatabaseConfig } from "../../database/config/config.ts";
import { type DeclaredSchema, findObject } from "../../distsql/schema/declared_schema.ts";
import { readDeclaredSchema } from "../../distsql/schema/fold_statement.ts";
import { readMigrationFolder } from "../../database/migrations/folder.ts";
import type { SqlSession } from "../../sql/session.ts";
import { withSession } from "../../database/providers/client.ts";
import type { ResolvedConfig } from "../config/config.ts";
import { parseTable, printTable, type TableName } from "../grants/table_name.ts";
import type { InfraFunction } from "../infra/infra_plan.ts";

/**
 * Compares the database of a stage with its migrations: the tables that functions use, with all
 * columns. Tables that migrations do not create are not compared.
 *
 * @param functions The functions with the tables that they use.
 * @param database The database, after the migrations ran.
 * @returns What is missing, and what to do; `undefined` if nothing is.
 */
export async function describeAbsentTables(
  root: string,
  { database: { migrationsDir: folder }, permissions }: ResolvedConfig,
  functions: readonly Pick<InfraFunction, "tables">[],
  database: DatabaseConfig,
): Promise<string | undefined> {
  const migrations = readMigrationFolder(resolve(root, folder)).files;
  const declared = readDeclaredSchema(migrations.map(({ sql }) => sql));
  const listed = Object.values(permissions.functions).flat().map(({ table }) => parseTable(table));
  const used = [...functions.flatMap(({ tables }) => tables), ...listed];
  const absent = await withSession(
    database,
    (session) => findAbsentTables(session, declared, used),
  );
  if (absent.length === 0) return undefined;
  return `${absent.map((each) => `The database lacks ${each}`).join("\n")}\n` +
    `Migrations in ${folder} create this: one was marked as applied without running, or a table ` +
    "was changed by hand. Add a migration that creates it, or drops it if no code needs it, and " +
    "deploy again";
}

const COLUMNS = "SELECT n.nspname::text AS schema, c.relname::text AS name, " +
  "a.attname::text AS column FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid " +
  "JOIN pg_namespace n ON n.oid = c.relnamespace " +
  "WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped " +
  "AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast', 'sys')";

/**
 * Finds tables and columns that migrations create but a database lacks: one was marked as applied
 * without running, or a table was changed by hand. The first request that needs one would fail.
 *
 * @param session Session to read with. It reads only catalogs that every role can read.
 * @param declared What the migrations create.
 * @param used The tables that functions use. Others are not compared.
 * @returns One text for each table and column.
 */
export async function findAbsentTables(
  session: SqlSession,
  declared: DeclaredSchema,
  used: readonly TableName[],
): Promise<string[]> {
  const live = new Map<string, Set<unknown>>();
  for (const { schema, name, column } of await session.query(COLUMNS)) {
    // the search path of a connection decides where a table without a schema is
    for (const place of [schema, undefined]) {
      const key = JSON.stringify([place, name]);
      live.set(key, (live.get(key) ?? new Set()).add(column));
    }
  }
  const absent = used.flatMap((table) => {
    const columns = findObject(declared.tables, table)?.columns;
    if (columns === undefined) return [];
    const found = live.get(JSON.stringify([table.schema, table.name]));
    if (found === undefined) return [`the table ${printTable(table)}`];
    return columns.filter(({ name }) => !found.has(name))
      .map(({ name }) => `the column ${name} of ${printTable(table)}`);
  });
  return [...new Set(absent)].sort();
}
