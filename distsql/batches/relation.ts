import { findTable, isOrdinary, readTable } from "../schema/read_table.ts";
import type { IncomingForeignKey, TableSchema } from "../schema/table_schema.ts";
import type { WrittenName } from "../schema/read_object.ts";
import { qualify } from "../../sql/quote.ts";
import type { RunSql } from "../../sql/session.ts";

/** Relation of a statement: a table, another relation, or a missing relation. */
export type Relation = TableSchema | "other" | undefined;

/**
 * Reads a relation from the catalog.
 *
 * @param run Runs a query.
 * @param name Its name.
 */
export async function readRelation(
  run: RunSql,
  { schema, name }: Pick<WrittenName, "schema" | "name">,
): Promise<Relation> {
  const row = await findTable(run, qualify(schema, name));
  if (row === undefined) return undefined;
  return isOrdinary(row) ? await readTable(run, row) : "other";
}

/** Reads the names of the user-defined functions from the catalog. */
export async function readFunctions(run: RunSql): Promise<Set<string>> {
  const rows = await run(
    "SELECT DISTINCT p.proname::text AS name FROM pg_proc p JOIN pg_namespace n ON " +
      "n.oid = p.pronamespace WHERE n.nspname NOT IN ('pg_catalog', 'information_schema', 'sys')",
  );
  return new Set(rows.map(({ name }) => String(name)));
}

/** Lists the foreign keys that reference a table, its own too. */
export function listReferencing(table: TableSchema): IncomingForeignKey[] {
  const { schema = "public", name } = table;
  const own = table.constraints.filter(({ references }) =>
    references?.table === name && references.schema === table.schema
  );
  return [
    ...table.referencedBy ?? [],
    ...own.map((key) => ({ ...key, from: { schema, table: name } })),
  ];
}

/** Checks whether a foreign key deletes or changes the referencing rows. */
export function hasDeleteAction({ definition }: { definition: string }): boolean {
  return /\bON\s+DELETE\s+(?:CASCADE|SET)\b/i.test(definition);
}
