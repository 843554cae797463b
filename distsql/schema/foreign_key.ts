import { parseStatement } from "../../sql/statement_reader.ts";
import { getName, readName } from "../../sql/sql_name.ts";
import { qualify, quoteName } from "../../sql/quote.ts";
import type { TableConstraint } from "./table_schema.ts";

/** Parsed foreign key. */
export interface ForeignKeyParts {
  /** Referencing columns. */
  columns: string[];
  /** Schema of the referenced table, if it is named. */
  schema: string | undefined;
  /** Referenced table. */
  table: string;
  /** Referenced columns; empty for the primary key. */
  targets: string[];
  /** Remaining clauses: MATCH, ON DELETE, ON UPDATE, DEFERRABLE, without NOT VALID. */
  rest: string;
}

/**
 * Parses `FOREIGN KEY (…) REFERENCES …`, or a column's `REFERENCES …`.
 *
 * @param definition Definition from `pg_get_constraintdef` or from a statement.
 * @param column The column, if the definition is part of one.
 */
export function parseForeignKey(definition: string, column?: string): ForeignKeyParts {
  const reader = parseStatement(definition);
  const namesIn = (at: number): string[] =>
    reader.listIn(at).map(([from]) => getName(reader.token(from)!));
  const columns = column === undefined ? namesIn(2) : [column];
  const at = reader.find("REFERENCES", 0);
  const target = readName(reader, at + 1);
  const hasTargets = reader.key(target.end) === "(";
  const restFrom = hasTargets ? reader.next(target.end) : target.end;
  return {
    columns,
    schema: target.schema,
    table: target.name,
    targets: hasTargets ? namesIn(target.end) : [],
    rest: stripNotValid(reader.text(restFrom, reader.size)),
  };
}

/** Checks whether a foreign key of a table references the table itself. */
export function referencesItself(
  { schema, table }: Pick<ForeignKeyParts, "schema" | "table">,
  owner: { readonly schema?: string; readonly name: string },
): boolean {
  return table === owner.name && (schema === undefined || schema === owner.schema);
}

/** Checks whether two lists name the same columns, in any order. */
export function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return [...a].sort().join("\0") === [...b].sort().join("\0");
}

/** Formats a foreign key. */
export function formatForeignKey(
  { columns, schema, table, targets, rest }: ForeignKeyParts,
): string {
  const list = (names: readonly string[]): string => names.map(quoteName).join(", ");
  const to = `${qualify(schema, table)}${targets.length === 0 ? "" : ` (${list(targets)})`}`;
  return `FOREIGN KEY (${list(columns)}) REFERENCES ${to}${rest === "" ? "" : ` ${rest}`}`;
}

/** Returns a foreign key's definition with another referenced table or other columns of it. */
export function pointForeignKey(
  definition: string,
  { schema, table, columns }: NonNullable<TableConstraint["references"]>,
): string {
  return formatForeignKey({ ...parseForeignKey(definition), schema, table, targets: columns });
}

/** Removes NOT VALID from the end of a definition. */
export function stripNotValid(definition: string): string {
  return definition.trim().replace(/\bNOT\s+VALID$/i, "").trim();
}
