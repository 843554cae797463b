import { qualify, quoteLiteral } from "../../../sql/quote.ts";
import type { DeclaredColumn, DeclaredSchema, ObjectName } from "../../schema/declared_schema.ts";
import { DEFAULT_SCHEMA, getKey } from "../../schema/declared_schema.ts";
import { parseStatement, type StatementReader } from "../../../sql/statement_reader.ts";

/** Writes the quoted name of an object; omits `public`, which is in the search path. */
export function writeObject({ schema, name }: ObjectName): string {
  return qualify(schema === DEFAULT_SCHEMA ? undefined : schema, name);
}

/** Writes the CHECK that restricts values to an enum's labels. */
export function writeLabelCheck(column: string, labels: readonly string[]): string {
  if (labels.length === 0) return `CHECK (${column} IS NULL)`;
  return `CHECK (${column} IN (${labels.map(quoteLiteral).join(", ")}))`;
}

/** Writes an ALTER TABLE with one or more actions. */
export function writeAlterTable(table: string, actions: string): StatementReader {
  return parseStatement(`ALTER TABLE ${table} ${actions};`);
}

/** Column of an enum type, with its table. */
export interface EnumColumn {
  /** Table as SQL. */
  readonly table: string;
  /** Key of the table. */
  readonly key: string;
  readonly column: DeclaredColumn;
}

/** Returns every column of an enum, in the order of the tables. */
export function columnsOfEnum(state: DeclaredSchema, enumName: ObjectName): EnumColumn[] {
  const wanted = getKey(enumName);
  return [...state.tables].flatMap(([key, table]) =>
    table.columns.filter((column) => column.enum === wanted).map((column) => ({
      table: writeObject(table),
      key,
      column,
    }))
  );
}
