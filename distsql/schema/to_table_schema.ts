import {
  type DeclaredColumn,
  type DeclaredSchema,
  type DeclaredTable,
  getKey,
  isReferenceTo,
} from "./declared_schema.ts";
import { normalizeType } from "./normalize_type.ts";
import type { IncomingForeignKey, TableColumn, TableSchema } from "./table_schema.ts";

/** Converts a declared table to its form on the provider. */
export function toTableSchema(table: DeclaredTable, state: DeclaredSchema): TableSchema {
  const { schema, name, constraints, indexes } = table;
  return {
    schema,
    name,
    oid: "0",
    dialect: "distsql",
    columns: table.columns.map(toColumn),
    constraints,
    indexes,
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
    ...(generated === undefined ? {} : { generated: { ...generated, stored: true } }),
    ...(column.default === undefined ? {} : { default: column.default }),
  };
}

function listIncoming(table: DeclaredTable, state: DeclaredSchema): IncomingForeignKey[] {
  const key = getKey(table);
  return [...state.tables.values()].filter((other) => other !== table).flatMap((other) =>
    other.constraints.filter((one) => isReferenceTo(key, one)).map((constraint) => ({
      ...constraint,
      from: { schema: other.schema, table: other.name },
    }))
  );
}
