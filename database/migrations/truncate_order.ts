import type { DistSqlTruncation } from "../../distsql/engine.ts";
import type { MigrationContext } from "./context.ts";
import { MigrationError } from "./migration_error.ts";
import { quoteLiteral } from "../../sql/quote.ts";
import { retryIdempotent } from "../../sql/retry_idempotent.ts";

/** Foreign key to a table of the statement. */
interface Reference {
  /** Index of the referenced table. */
  readonly parent: number;
  /** Index of the referencing table; `undefined` if it is not among the tables. */
  readonly child: number | undefined;
  /** Referencing table. */
  readonly table: string;
}

/**
 * Decides which table a step of a TRUNCATE empties: referencing tables come first.
 *
 * @param truncation The tables.
 * @param context Shared state of the run.
 * @returns The quoted table.
 * @throws {MigrationError} If another table references one of them, which PostgreSQL rejects too,
 * or if they reference each other.
 */
export async function tableToEmpty(
  truncation: DistSqlTruncation,
  context: MigrationContext,
): Promise<string> {
  const { tables, place } = truncation;
  const references = await readReferences(tables, context);
  const outside = references.find(({ child }) => child === undefined);
  if (outside !== undefined) {
    throw new MigrationError(
      `TRUNCATE of ${tables[outside.parent]} would break references of ` +
        `${outside.table}, and PostgreSQL rejects it too: write DELETE FROM for ` +
        `${outside.table} and then for ${tables[outside.parent]}`,
    );
  }
  const left = new Set(tables.keys());
  for (let count = 0; left.size > 0; count++) {
    const next = [...left].find((one) =>
      !references.some(({ parent, child }) => parent === one && left.has(child ?? one))
    );
    if (next === undefined) {
      throw new MigrationError(
        `${tables.join(", ")} reference each other, so that they cannot ` +
          "be emptied one after another: set the referencing columns to NULL first, then write " +
          "DELETE FROM for each table",
      );
    }
    if (count === place) return tables[next];
    left.delete(next);
  }
  return tables[place];
}

async function readReferences(
  tables: readonly string[],
  { session, clock }: MigrationContext,
): Promise<Reference[]> {
  const values = tables.map((table, place) =>
    `(${place}, to_regclass(${quoteLiteral(table)})::oid)`
  )
    .join(", ");
  const sql =
    `WITH t (place, id) AS (VALUES ${values}) SELECT t.place AS parent, child.place AS child, ` +
    "c.conrelid::regclass::text AS name FROM t JOIN " +
    "pg_constraint c ON c.confrelid = t.id AND c.contype = 'f' " +
    "AND c.conrelid <> c.confrelid LEFT JOIN t AS child ON child.id = c.conrelid ORDER BY 1, 3";
  const rows = await retryIdempotent(() => session.query(sql), clock);
  return rows.map(({ parent, child, name }) => ({
    parent: Number(parent),
    child: child === null ? undefined : Number(child),
    table: String(name),
  }));
}
