import { NAME, SCHEMA } from "../../database/drizzle_table.ts";
import type {
  PrecompiledParameter,
  PrecompiledStatement,
} from "../../database/queries/precompiled_statement.ts";
import type { Cell } from "../../database/session/row_mapper.ts";
import { qualify, quoteName } from "../../database/sql/quote.ts";
import { type AuthColumn, AuthTable } from "./table.ts";

/** A part of a statement. A column is written with the name of its table. */
export type SqlPart = string | AuthTable | AuthColumn | PrecompiledParameter | readonly SqlPart[];

/** Writes SQL with parts between its texts. */
export function sql(texts: TemplateStringsArray, ...parts: SqlPart[]): SqlPart {
  return texts.flatMap((text, at) => at < parts.length ? [text, parts[at]] : [text]);
}

/** Puts a text between parts. */
export function join(parts: readonly SqlPart[], separator: string): SqlPart {
  return parts.flatMap((part, at) => at === 0 ? [part] : [separator, part]);
}

/** Creates the placeholder of a value, which is encoded for a column. */
export function given(placeholder: string, column?: AuthColumn): PrecompiledParameter {
  return { placeholder, encode: column?.encode };
}

/** Creates a parameter with a constant for a column. */
export function constant(value: number, column: AuthColumn): PrecompiledParameter {
  return { value: (column.encode === undefined ? value : column.encode(value)) as number };
}

/** Returns the text and the parameters of a statement. */
export function writeStatement(part: SqlPart): Pick<PrecompiledStatement, "text" | "params"> {
  const params: PrecompiledParameter[] = [];
  const write = (part: SqlPart): string => {
    if (typeof part === "string") return part;
    if (part instanceof AuthTable) return qualify(part[SCHEMA], part[NAME]);
    if ("table" in part) return `${write(part.table)}.${quoteName(part.name)}`;
    if (Symbol.iterator in part) return part.map(write).join("");
    params.push(part as PrecompiledParameter);
    return `$${params.length}`;
  };
  return { text: write(part), params };
}

/** Returns the table's name in the metadata of a statement. */
export function describeTable({ [NAME]: name, [SCHEMA]: schema }: AuthTable): string {
  return schema === undefined ? name : `${schema}.${name}`;
}

/** A column that a statement returns. */
export interface SelectedColumn {
  readonly column: AuthColumn;
  readonly cell: Cell;
}

/** Columns, in objects for nested properties. */
interface Fields {
  readonly [property: string]: AuthColumn | Fields;
}

/** Lists the columns of an object in its order, as drizzle does. */
export function listSelected(fields: object, within: readonly string[] = []): SelectedColumn[] {
  return Object.entries(fields as Fields).flatMap(([property, field]): SelectedColumn[] => {
    const path = [...within, property];
    if (!isColumn(field)) return listSelected(field, path);
    const { table, decode, isJson } = field;
    const name = path.length === 2 ? table[NAME] : undefined;
    return [{ column: field, cell: { path, decode, table: name, isJson } }];
  });
}

function isColumn(field: AuthColumn | Fields): field is AuthColumn {
  return field.table instanceof AuthTable;
}
