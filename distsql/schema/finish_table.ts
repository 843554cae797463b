import { deriveName } from "../../sql/sql_name.ts";
import type { DeclaredColumn } from "./declared_schema.ts";
import { changeTable, type SchemaDraft } from "./schema_draft.ts";

function lacksCheckName(column: DeclaredColumn): boolean {
  return column.enum !== undefined && !column.isArray && column.labelCheck === undefined;
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
