import { UsageError } from "../../terminal/command.ts";
import type { CloneOptions } from "../../config/clone.ts";
import type { Relation } from "./read_catalog.ts";

/**
 * Selects the tables to clone. Helper tables of the migration runner are skipped, because it
 * creates them on demand.
 *
 * @param migrations The table of applied migrations.
 * @returns The tables in their original order.
 * @throws {UsageError} If a selected table does not exist or is not a table.
 */
export function chooseTables(
  relations: readonly Relation[],
  options: CloneOptions,
  migrations: { readonly schema: string; readonly table: string },
  label: string,
): Relation[] {
  const isHelper = ({ schema, name }: Relation): boolean =>
    schema === migrations.schema &&
    [`${migrations.table}_steps`, `${migrations.table}_lease`].includes(name);
  const isHistory = ({ schema, name }: Relation): boolean =>
    schema === migrations.schema && name === migrations.table;
  const tables = relations.filter((relation) =>
    relation.kind === "r" && !relation.isPartition && !isHelper(relation) &&
    // existing tables of the target have their own migration history
    !(options.mode === "data" && isHistory(relation))
  );
  if (options.tables.length === 0) return tables;
  const isNamed = (name: string) => (relation: Relation) =>
    name === relation.name || name === `${relation.schema}.${relation.name}`;
  for (const name of options.tables) {
    const found = relations.filter(isNamed(name));
    if (found.length === 0) {
      throw new UsageError(`--tables: ${label} has no table ${name}`);
    }
    if (found.length > 1) {
      throw new UsageError(
        `--tables: ${name} is ambiguous (${
          found.map((one) => `${one.schema}.${one.name}`).join(", ")
        }): add the schema`,
      );
    }
    if (!tables.includes(found[0])) {
      throw new UsageError(`--tables: ${name} is not a table that can be cloned`);
    }
  }
  return tables.filter((relation) => options.tables.some((name) => isNamed(name)(relation)));
}

/**
 * Finds relations that cannot be cloned and without which the clone would be incomplete.
 *
 * @returns One message for each relation.
 */
export function findBlockers(relations: readonly Relation[], options: CloneOptions): string[] {
  const { tables, mode } = options;
  const isNamed = ({ schema, name }: Relation): boolean =>
    tables.length === 0 || tables.includes(name) || tables.includes(`${schema}.${name}`);
  return relations.filter(isNamed).flatMap((relation) => {
    const { schema, name, kind, isPartition, isFiltered } = relation;
    if (isFiltered && mode !== "schema") {
      return [
        `policies of ${schema}.${name} hide rows from this role: ` +
        `connect as its owner, or as a role with BYPASSRLS`,
      ];
    }
    if (kind === "p" && !isPartition) {
      return [
        `${schema}.${name} is partitioned, which is not ` +
        `supported: select the tables to clone with --tables`,
      ];
    }
    return kind === "f"
      ? [`${schema}.${name} is a foreign table: select the tables to clone with --tables`]
      : [];
  });
}
