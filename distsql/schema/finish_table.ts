import { readStoredOrder } from "../translate/enum_order/stored_order.ts";
import { deriveName } from "../../sql/sql_name.ts";
import { parseStatement } from "../../sql/statement_reader.ts";
import type { DeclaredColumn } from "./declared_schema.ts";
import { changeTable, type SchemaDraft } from "./schema_draft.ts";

function lacksCheckName(column: DeclaredColumn): boolean {
  return column.enum !== undefined && !column.isArray && column.labelCheck === undefined;
}

/**
 * Names the CHECKs of a table's enum columns that have none yet: `table_column_enum`, with a number
 * if a constraint has that name.
 */
function nameLabelChecks(schema: SchemaDraft, key: string): void {
  if (!schema.tables.get(key)?.columns.some(lacksCheckName)) return;
  changeTable(schema, key, (table) => {
    const taken = new Set([
      ...table.constraints.map((one) => one.name),
      ...table.columns.flatMap((one) => one.labelCheck ?? []),
    ]);
    const columns = table.columns.map((column) => {
      if (!lacksCheckName(column)) return column;
      let name = deriveName(table.name, column.name, "enum");
      for (let pass = 1; taken.has(name); pass++) {
        name = deriveName(table.name, column.name, `enum${pass}`);
      }
      taken.add(name);
      return { ...column, labelCheck: name };
    });
    return { columns };
  });
}

/** Records the enums whose order the generated columns of a table use. */
function readGenerated(schema: SchemaDraft, key: string): void {
  const table = schema.tables.get(key);
  if (schema.enums.size === 0 || !table?.columns.some((one) => one.generated)) return;
  const columns = table.columns.map((column) => {
    if (column.generated === undefined) return column;
    const ordersBy = readStoredOrder(parseStatement(column.generated), schema, table);
    return { ...column, ordersBy };
  });
  changeTable(schema, key, () => ({ columns }));
}

/** Derives the facts that depend on all columns and constraints of a table. */
export function finishTable(schema: SchemaDraft, key: string): void {
  nameLabelChecks(schema, key);
  readGenerated(schema, key);
}
