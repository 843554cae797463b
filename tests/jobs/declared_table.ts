import { assertEquals } from "@std/assert";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import { executeRows } from "../../database/session/execute.ts";
import type { DrizzleClient } from "../../database/session/drizzle_client.ts";
import { sql } from "../../database/orm.ts";

/** Compares the columns and indexes that drizzle declares with those that a migration has created. */
export async function assertDeclared(db: DrizzleClient, table: PgTable): Promise<void> {
  const { columns: declared, indexes, name } = getTableConfig(table);
  const columns = await executeRows(
    db,
    sql`select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as required,
      pg_get_expr(d.adbin, d.adrelid) as fallback
      from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = ${name}::regclass and a.attnum > 0 order by a.attnum`,
  );
  assertEquals(
    declared.map((column) => ({
      name: column.name,
      type: column.getSQLType(),
      required: column.notNull,
      fallback: renderDefault(column.default),
    })),
    columns as unknown[],
  );
  const readIndexes = (of: string) =>
    executeRows<{ name: string; definition: string }>(
      db,
      sql`select indexname as name, indexdef as definition from pg_indexes where tablename = ${of} order by 1`,
    );
  // the declared indexes, created and read back by PostgreSQL
  await db.execute(sql.raw(`create table copied (like ${name})`));
  for (const { config } of indexes) {
    const on = config.columns.map((column) => `"${(column as { name: string }).name}"`).join(", ");
    const where = config.where?.queryChunks.map(renderChunk).join("");
    await db.execute(sql.raw(
      `create ${config.unique ? "unique " : ""}index "copied_${config.name}" on copied (${on})${
        where === undefined ? "" : ` where ${where}`
      }`,
    ));
  }
  assertEquals(
    (await readIndexes("copied")).map(({ definition }) =>
      definition.replaceAll("copied_", "").replace(".copied ", `.${name} `)
    ),
    (await readIndexes(name)).filter((index) => !index.name.endsWith("_pkey"))
      .map(({ definition }) => definition),
  );
  await db.execute(sql`drop table copied`);
}

function renderDefault(value: unknown): string | null {
  if (value === undefined) return null;
  return typeof value === "string" ? `'${value}'::text` : String(value);
}

function renderChunk(chunk: unknown): string {
  // texts are lists in drizzle 0.45
  const { value, name } = chunk as { value?: string | string[]; name?: string };
  return value === undefined ? `"${name}"` : [value].flat().join("");
}
