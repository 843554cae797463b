import type { StatementReader } from "../../sql/statement_reader.ts";
import type { DeclaredColumn, DeclaredConstraint, DeclaredTable } from "./declared_schema.ts";
import { changeTable, type SchemaDraft } from "./schema_draft.ts";
import { chooseName } from "./names.ts";

/** Constraint of a statement that has no name yet. */
export interface PendingConstraint {
  /** Start of its definition, where `CONSTRAINT name` would be written. */
  readonly at: number;
  readonly kind: DeclaredConstraint["kind"];
  readonly name?: string;
  /** Columns of a key; those of a CHECK are determined when the table is complete. */
  readonly columns: readonly string[];
  readonly included: readonly string[];
  /** Columns in a generated name. */
  readonly nameColumns: readonly string[];
  readonly references?: DeclaredConstraint["references"];
  /** Start of the definition without its name. */
  readonly from: number;
  readonly to: number;
}

/** CREATE TABLE or ALTER TABLE that is applied to a schema. */
export interface TableFold {
  /** Schema, which is changed. */
  readonly schema: SchemaDraft;
  /** The statement. */
  readonly reader: StatementReader;
  /** Key of the table. */
  readonly key: string;
  /** Receives the constraints, which get their names when all of them are known. */
  readonly pending: PendingConstraint[];
}

/** Returns the table in its current state. */
export function getTable({ schema, key }: TableFold): DeclaredTable {
  return schema.tables.get(key)!;
}

function lacksCheckName(column: DeclaredColumn): boolean {
  return column.enum !== undefined && column.labelCheck === undefined;
}

/**
 * Names the CHECKs of a table's enum columns that have none yet: `table_column_enum`, with a number
 * if a constraint has that name.
 */
export function finishTable(schema: SchemaDraft, key: string): void {
  if (!schema.tables.get(key)?.columns.some(lacksCheckName)) return;
  changeTable(schema, key, (table) => {
    const taken = new Set([
      ...table.constraints.map((one) => one.name),
      ...table.columns.flatMap((one) => one.labelCheck ?? []),
    ]);
    const columns = table.columns.map((column) => {
      if (!lacksCheckName(column)) return column;
      const parts = { table: table.name, columns: [column.name], label: "enum" };
      const name = chooseName(parts, (name) => taken.has(name));
      taken.add(name);
      return { ...column, labelCheck: name };
    });
    return { columns };
  });
}
