import { UsageError } from "../../command.ts";
import type { CloneOptions } from "./clone_options.ts";
import type { Relation } from "./read_catalog.ts";

/**
 * The tables to clone. The helpers of the migration runner are left out: they are made anew when they are needed.
 *
 * @param relations What the source has.
 * @param options What was asked for.
 * @param migrations The table of applied migrations.
 * @param label The source, as it may be printed.
 * @returns The tables, in their order.
 * @throws {UsageError} When a table is named that is not there, or not a table.
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
    // a target that has tables has its own history of them
    !(options.mode === "data" && isHistory(relation))
  );
  if (options.tables.length === 0) return tables;
  const isNamed = (name: string) => (relation: Relation) =>
    name === relation.name || name === `${relation.schema}.${relation.name}`;
  for (const name of options.tables) {
    const found = relations.filter(isNamed(name));
    if (found.length === 0) {
      throw new UsageError(`--tables names ${name}, and ${label} has no such table`);
    }
    if (found.length > 1) {
      throw new UsageError(
        `--tables names ${name}, which is ${
          found.map((one) => `${one.schema}.${one.name}`).join(" and ")
        }: give the schema`,
      );
    }
    if (!tables.includes(found[0])) {
      throw new UsageError(`--tables names ${name}, which is no table that can be cloned`);
    }
  }
  return tables.filter((relation) => options.tables.some((name) => isNamed(name)(relation)));
}

/**
 * What a clone cannot take along, and would not be whole without.
 *
 * @param relations What the source has.
 * @param options What was asked for.
 * @returns One sentence each.
 */
export function findBlockers(relations: readonly Relation[], options: CloneOptions): string[] {
  const { tables, mode } = options;
  const isNamed = ({ schema, name }: Relation): boolean =>
    tables.length === 0 || tables.includes(name) || tables.includes(`${schema}.${name}`);
  return relations.filter(isNamed).flatMap((relation) => {
    const { schema, name, kind, isPartition, isFiltered } = relation;
    if (isFiltered && mode !== "schema") {
      return [
        `policies of ${schema}.${name} hide rows from this role: connect as its owner, or as a role with BYPASSRLS`,
      ];
    }
    if (kind === "p" && !isPartition) {
      return [
        `${schema}.${name} is partitioned, which a clone cannot make: name the tables to clone with --tables`,
      ];
    }
    return kind === "f"
      ? [`${schema}.${name} is a foreign table: name the tables to clone with --tables`]
      : [];
  });
}
