import type { PGlite } from "@electric-sql/pglite";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { qualify, quoteName } from "../../sql/quote.ts";
import { type Catalog, quoteTable } from "./catalog.ts";
import { readCatalog } from "./read_catalog.ts";

/**
 * Reads the catalog that a database has with the objects of a schema alone. The database is not
 * changed: functions, extensions and types of the migrations stay while the statements run, and the
 * transaction is rolled back.
 *
 * @param database The database after the migrations.
 * @param created The statements that create the schema.
 * @throws {ConfigurationError} If PostgreSQL refuses a statement.
 */
export async function readSchemaCatalog(
  database: PGlite,
  have: Catalog,
  created: readonly string[],
): Promise<Catalog> {
  const skipped = have.schemas.map((name) => `CREATE SCHEMA ${quoteName(name)}`);
  let catalog: Catalog | undefined;
  await database.transaction(async (transaction) => {
    for (const statement of listDrops(have)) await transaction.exec(statement);
    for (const sql of created) {
      if (skipped.includes(sql)) continue;
      await transaction.exec(sql).catch((cause: Error) => {
        throw new ConfigurationError(
          `PostgreSQL refuses a statement of the schema: ${cause.message}\n${sql}`,
          { cause },
        );
      });
    }
    catalog = await readCatalog(transaction);
    await transaction.rollback();
  });
  return catalog!;
}

/** Drops what a schema can declare. */
function listDrops({ tables, views, sequences, enums }: Catalog): string[] {
  const drop = (kind: string, each: { schema: string; name: string }) =>
    `DROP ${kind} IF EXISTS ${qualify(each.schema, each.name)} CASCADE`;
  return [
    ...views.map((view) =>
      drop(view.definition.startsWith("m") ? "MATERIALIZED VIEW" : "VIEW", view)
    ),
    ...tables.map((table) => `DROP TABLE ${quoteTable(table)} CASCADE`),
    ...sequences.map((sequence) => drop("SEQUENCE", sequence)),
    ...enums.map((each) => drop("TYPE", each)),
  ];
}
