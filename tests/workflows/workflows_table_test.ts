import { assertEquals } from "@std/assert";
import { getTableConfig } from "drizzle-orm/pg-core";
import { executeRows } from "../../database/session/execute.ts";
import { sql } from "../../database/orm.ts";
import { trellisWorkflowEntries, trellisWorkflows } from "../../workflows/mod.ts";
import { openWorkflowWorld } from "./workflow_world.ts";

Deno.test("trellisWorkflows and trellisWorkflowEntries have the columns that the migration creates", async () => {
  await using world = await openWorkflowWorld();
  for (const table of [trellisWorkflows, trellisWorkflowEntries]) {
    const { columns, name } = getTableConfig(table);
    const created = await executeRows(
      world.db,
      sql`select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as required,
        a.atthasdef as "hasDefault" from pg_attribute a
        where a.attrelid = ${name}::regclass and a.attnum > 0 order by a.attnum`,
    );
    const declared = columns.map((column) => ({
      name: column.name,
      type: column.getSQLType(),
      required: column.notNull,
      hasDefault: column.hasDefault,
    }));
    assertEquals(created as unknown[], declared);
  }
});
