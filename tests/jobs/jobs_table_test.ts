import { assertEquals } from "@std/assert";
import { getTableConfig } from "drizzle-orm/pg-core";
import * as z from "zod";
import { executeRows } from "../../database/mod.ts";
import { eq, sql } from "../../database/orm.ts";
import { defineJob, trellisJobs } from "../../jobs/mod.ts";
import { withJobs } from "./jobs_database.ts";

Deno.test("trellisJobs has the columns and indexes that the migration creates", async () => {
  await withJobs(async (db) => {
    const columns = await executeRows(
      db,
      sql`select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as required,
        pg_get_expr(d.adbin, d.adrelid) as fallback
        from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where a.attrelid = 'trellis_jobs'::regclass and a.attnum > 0 order by a.attnum`,
    );
    const { columns: declared, indexes, name } = getTableConfig(trellisJobs);
    assertEquals(name, "trellis_jobs");
    assertEquals(
      declared.map((column) => ({
        name: column.name,
        type: column.getSQLType(),
        required: column.notNull,
        fallback: renderDefault(column.default),
      })),
      columns as unknown[],
    );
    const readIndexes = (table: string) =>
      executeRows<{ name: string; definition: string }>(
        db,
        sql`select indexname as name, indexdef as definition from pg_indexes where tablename = ${table} order by 1`,
      );
    // the declared indexes, created and read back by PostgreSQL
    await db.execute(sql`create table copied (like trellis_jobs)`);
    for (const { config } of indexes) {
      const on = config.columns.map((column) => `"${(column as { name: string }).name}"`).join(
        ", ",
      );
      const where = config.where?.queryChunks.map(renderChunk).join("") ?? "true";
      await db.execute(sql.raw(
        `create ${config.unique ? "unique " : ""}index "copied_${config.name}" on copied (${on})${
          config.where === undefined ? "" : ` where ${where}`
        }`,
      ));
    }
    assertEquals(
      (await readIndexes("copied")).map(({ definition }) =>
        definition.replaceAll("copied_", "").replace(".copied ", ".trellis_jobs ")
      ),
      (await readIndexes("trellis_jobs")).filter((index) => !index.name.endsWith("_pkey"))
        .map(({ definition }) => definition),
    );
  });
});

function renderDefault(value: unknown): string | null {
  if (value === undefined) return null;
  return typeof value === "string" ? `'${value}'::text` : String(value);
}

function renderChunk(chunk: unknown): string {
  const { value, name } = chunk as { value?: string[]; name?: string };
  return value?.join("") ?? `"${name}"`;
}

Deno.test("trellisJobs reads jobs in a query", async () => {
  await withJobs(async (db) => {
    const greet = defineJob({ name: "greet", schema: z.string() })(() => {});
    const id = await greet.enqueue(db, "Ada");
    const [job] = await db.select().from(trellisJobs).where(eq(trellisJobs.id, id));
    assertEquals([job.name, job.payload, job.state, job.attempts], ["greet", '"Ada"', "queued", 0]);
    assertEquals(job.enqueuedAt instanceof Date, true);
  });
});
