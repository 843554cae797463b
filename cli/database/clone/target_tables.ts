import type { TableSchema } from "../../../distsql/schema/table_schema.ts";
import { qualify } from "../../../sql/quote.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { summarizeList } from "../../terminal/generated_report.ts";
import type { CloneOptions } from "../../config/clone.ts";
import type { CloneConnection } from "./connection.ts";
import { readTable, type Relation } from "./read_catalog.ts";

/** Relations of both sides of a clone. */
export interface TargetRelations {
  /** All relations of the source. */
  readonly all: readonly Relation[];
  /** Relations to clone. */
  readonly chosen: readonly Relation[];
  /** Relations of the target. */
  readonly present: readonly Relation[];
}

/**
 * Checks that a clone overwrites no table of the target.
 *
 * @param relations All relations of the source, those to clone, and those of the target.
 * @throws {ConfigurationError} If it would.
 */
export function assertEmpty(
  target: CloneConnection,
  options: CloneOptions,
  { all, chosen, present }: TargetRelations,
): void {
  if (present.length === 0) return;
  const planned = options.tables.length === 0 ? all : chosen;
  const same = present.filter((one) =>
    planned.some(({ schema, name }) => schema === one.schema && name === one.name)
  );
  const list = (relations: readonly Relation[]) =>
    summarizeList(relations.map(({ schema, name }) => `${schema}.${name}`));
  if (same.length > 0) {
    throw new ConfigurationError(
      `The target ${target.label} has ${
        list(same)
      }, and a clone never overwrites tables: use an empty database, ` +
        "or --data-only to fill existing empty tables",
    );
  }
  if (options.beside) return;
  throw new ConfigurationError(
    `The target ${target.label} is not empty (${
      list(present)
    }): use an empty database, or --beside to add the ` +
      "cloned tables",
  );
}

/**
 * Reads the tables of the target that rows are copied to.
 *
 * @returns The tables by their qualified names.
 * @throws {ConfigurationError} If one is missing or has rows.
 */
export async function readTargets(
  target: CloneConnection,
  { chosen, present }: TargetRelations,
): Promise<Map<string, TableSchema>> {
  const targets = new Map<string, TableSchema>();
  for (const { schema, name } of chosen) {
    const found = present.find((one) => one.schema === schema && one.name === name);
    if (found === undefined) {
      throw new ConfigurationError(
        `The target ${target.label} has no table ` +
          `${schema}.${name}: run the migrations first, or omit --data-only`,
      );
    }
    const [row] = await target.run(`SELECT 1 AS one FROM ${qualify(schema, name)} LIMIT 1`);
    if (row !== undefined) {
      throw new ConfigurationError(
        `${schema}.${name} of the target ${target.label} contains rows, and a clone ` +
          `never overwrites rows: empty it, or exclude ` +
          "it with --tables",
      );
    }
    targets.set(qualify(schema, name), await readTable(target, found));
  }
  return targets;
}
