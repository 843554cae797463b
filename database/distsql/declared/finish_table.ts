import { readStoredOrder } from "../enum_order/stored_order.ts";
import { deriveName } from "../sql_name.ts";
import { parseStatement } from "../statement_reader.ts";
import { type DeclaredSchema, withEntry } from "./declared_schema.ts";

/**
 * Names the CHECKs of a table's enum columns that have none yet: `table_column_enum`, with a number
 * if a constraint has that name.
 */
function nameLabelChecks(state: DeclaredSchema, key: string): DeclaredSchema {
  const table = state.tables.get(key);
  const lacksName = table?.columns.some((one) =>
    one.enum !== undefined && !one.isArray && one.labelCheck === undefined
  );
  if (table === undefined || !lacksName) return state;
  const taken = new Set([
    ...table.constraints.map((one) => one.name),
    ...table.columns.flatMap((one) => one.labelCheck ?? []),
  ]);
  const columns = table.columns.map((column) => {
    if (column.enum === undefined || column.isArray || column.labelCheck !== undefined) {
      return column;
    }
    let name = deriveName(table.name, column.name, "enum");
    for (let pass = 1; taken.has(name); pass++) {
      name = deriveName(table.name, column.name, `enum${pass}`);
    }
    taken.add(name);
    return { ...column, labelCheck: name };
  });
  return { ...state, tables: withEntry(state.tables, { ...table, columns }) };
}

/** Records the enums whose order the generated columns of a table use. */
function readGenerated(state: DeclaredSchema, key: string): DeclaredSchema {
  const table = state.tables.get(key);
  if (
    table === undefined || state.enums.size === 0 || !table.columns.some((one) => one.generated)
  ) return state;
  const columns = table.columns.map((column) => {
    if (column.generated === undefined) return column;
    return {
      ...column,
      ordersBy: readStoredOrder(parseStatement(column.generated), state, table),
    };
  });
  return { ...state, tables: withEntry(state.tables, { ...table, columns }) };
}

/** Derives the facts that depend on all columns and constraints of a table. */
export function finishTable(state: DeclaredSchema, key: string): DeclaredSchema {
  return readGenerated(nameLabelChecks(state, key), key);
}
