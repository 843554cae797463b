import {
  type DeclaredColumn,
  type DeclaredConstraint,
  type DeclaredSchema,
  type DeclaredTable,
  findObject,
  getKey,
} from "../../distsql/schema/declared_schema.ts";
import { readObject } from "../../distsql/schema/read_object.ts";
import { parseStatement } from "../../sql/statement_reader.ts";
import { translateForDistSql } from "../../distsql/translate/sanitize.ts";
import { applyAlter } from "../../distsql/recreate/alter.ts";
import { buildCreateTableSql } from "../../distsql/recreate/create_table.ts";
import { generateRecreationPlan, typeNames } from "../../distsql/recreate/plan.ts";
import { normalizeType } from "../../distsql/recreate/sql_text.ts";
import type {
  IncomingForeignKey,
  TableColumn,
  TableConstraint,
  TableSchema,
} from "../../distsql/recreate/table_schema.ts";
import { qualify, quoteName } from "../../sql/quote.ts";

/**
 * Plans the recreation of a table from its declaration in the files, as the run will plan it from
 * the catalog. Changes nothing. Skips tables that the files do not declare.
 *
 * @param before Declarations before the statement.
 * @param sql The ALTER TABLE statement that requires the recreation.
 * @throws {RecreationError} If the change is impossible, or would break dependent objects.
 * @throws {UnsupportedStatementError} If the provider does not support the resulting table.
 */
export function simulateRecreation(before: DeclaredSchema, sql: string): void {
  const reader = parseStatement(sql);
  const written = readObject(reader, reader.alteredTableAt());
  const table = findObject(before.tables, written);
  if (table === undefined || !table.isComplete) return;
  const current = toTableSchema(table, before);
  if (!canHave(current)) return;
  generateRecreationPlan(current, applyAlter(current, sql, true), 0);
}

/**
 * Checks whether the provider supports the current table; if not, its CREATE TABLE is already
 * rejected.
 */
function canHave(current: TableSchema): boolean {
  const sql = buildCreateTableSql(current.name, current);
  return translateForDistSql(sql, { domains: typeNames(current) }).refusals.length === 0;
}

/** Converts a declared table to its form on the provider. */
function toTableSchema(table: DeclaredTable, state: DeclaredSchema): TableSchema {
  return {
    schema: table.schema,
    name: table.name,
    oid: "0",
    dialect: "distsql",
    columns: table.columns.map(toColumn),
    constraints: table.constraints.map((constraint) => toConstraint(constraint, state)),
    indexes: table.indexes.map(({ name, isUnique, columns, text }) => ({
      name,
      unique: isUnique,
      definition: text,
      columns: [...columns],
      ...(isUnique ? { keys: [...columns] } : {}),
      valid: true,
    })),
    referencedBy: listIncoming(table, state),
    dependents: table.statistics.map(({ name }) => `statistics object ${name}`),
  };
}

/** Converts a column: enums become text, serial columns become bigint identities. */
function toColumn(column: DeclaredColumn): TableColumn {
  const { name, notNull, numbering, generated } = column;
  const plainType = column.enum === undefined ? column.type : "text";
  const type = numbering === undefined ? plainType : "bigint";
  return {
    name,
    type: normalizeType(type),
    notNull,
    ...(numbering === undefined ? {} : { identity: { always: false, options: "CACHE 1" } }),
    ...(generated === undefined ? {} : { generated: { expression: generated, stored: true } }),
    ...(column.default === undefined ? {} : { default: column.default }),
  };
}

function toConstraint(
  { name, kind, columns, references, text }: DeclaredConstraint,
  state: DeclaredSchema,
): TableConstraint {
  const list = (names: readonly string[]): string => `(${names.map(quoteName).join(", ")})`;
  const base = { name, type: kind, columns: [...columns], validated: true };
  if (kind === "primary_key") return { ...base, definition: `PRIMARY KEY ${list(columns)}` };
  if (kind === "unique") return { ...base, definition: `UNIQUE ${list(columns)}` };
  const target = references && state.tables.get(references.table);
  if (references === undefined || target === undefined) return { ...base, definition: text };
  const to = `${qualify(target.schema, target.name)} ${list(references.columns)}`;
  return {
    ...base,
    definition: `FOREIGN KEY ${list(columns)} REFERENCES ${to}`,
    references: { schema: target.schema, table: target.name, columns: [...references.columns] },
  };
}

function listIncoming(table: DeclaredTable, state: DeclaredSchema): IncomingForeignKey[] {
  const key = getKey(table);
  return [...state.tables.values()].filter((other) => other !== table).flatMap((other) =>
    other.constraints.filter(({ references }) => references?.table === key).map((constraint) => ({
      ...toConstraint(constraint, state),
      from: { schema: other.schema, table: other.name },
    }))
  );
}
