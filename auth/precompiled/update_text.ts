import { COLUMNS } from "../../database/drizzle_table.ts";
import type { PrecompiledStatement } from "../../database/queries/precompiled_statement.ts";
import { quoteName } from "../../database/sql/quote.ts";
import {
  describeTable,
  join,
  listSelected,
  sql,
  type SqlPart,
  writeStatement,
} from "./statement_text.ts";
import type { AuthColumn, AuthTable } from "./table.ts";

/** The parts of an update. */
export interface Update {
  readonly name: string;
  readonly table: AuthTable;
  /** New values by property. */
  readonly changes: Readonly<Record<string, SqlPart>>;
  /** At least two conditions. */
  readonly where: readonly SqlPart[];
  /** The returned columns by property. */
  readonly returning: Readonly<Record<string, AuthColumn>>;
}

/** Describes an update as drizzle writes it. */
export function describeUpdate(
  { name, table, changes, where, returning }: Update,
): PrecompiledStatement {
  const set = Object.entries(table[COLUMNS])
    .filter(([property]) => Object.hasOwn(changes, property))
    .map(([property, column]) => sql`${quoteName(column.name)} = ${changes[property]}`);
  const selected = listSelected(returning);
  const returned = selected.map(({ column }) => quoteName(column.name));
  return {
    name,
    ...writeStatement(
      sql`update ${table} set ${join(set, ", ")} where (${join(where, " and ")}) returning ${
        join(returned, ", ")
      }`,
    ),
    cells: selected.map(({ cell }) => cell),
    // drizzle 0.45 gives this type to updates, too
    metadata: { type: "insert", tables: [describeTable(table)] },
  };
}
