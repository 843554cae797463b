import {
  type DeclaredColumn,
  type DeclaredConstraint,
  type DeclaredSchema,
  type DeclaredTable,
  getKey,
} from "./declared_schema.ts";
import { formatForeignKey, parseForeignKey } from "./foreign_key.ts";
import { normalizeType } from "./normalize_type.ts";
import type {
  IncomingForeignKey,
  TableColumn,
  TableConstraint,
  TableSchema,
} from "./table_schema.ts";
import { quoteName } from "../../sql/quote.ts";
import { parseStatement } from "../../sql/statement_reader.ts";

/** Converts a declared table to its form on the provider. */
export function toTableSchema(table: DeclaredTable, state: DeclaredSchema): TableSchema {
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
      ...(isUnique && isPlainIndex(text) ? { keys: [...columns] } : {}),
      valid: true,
    })),
    referencedBy: listIncoming(table, state),
    dependents: table.statistics.map(({ name }) => `statistics object ${name}`),
  };
}

/** Checks whether an index covers all rows, by columns alone. */
function isPlainIndex(text: string): boolean {
  const reader = parseStatement(text);
  const open = reader.find("(", 0);
  return reader.closing(open) === reader.size - 1 &&
    reader.listIn(open).every(([from, to]) => to === from + 1 && reader.isName(from));
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
  const to = { columns: [...columns], schema: target.schema, table: target.name };
  const { rest } = parseForeignKey(text, columns.length === 1 ? columns[0] : undefined);
  return {
    ...base,
    definition: formatForeignKey({ ...to, targets: [...references.columns], rest }),
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
