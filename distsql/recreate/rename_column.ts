import { getName } from "../../sql/sql_name.ts";
import { parseStatement } from "../../sql/statement_reader.ts";
import { TokenEdits } from "../../sql/token_edits.ts";
import { findColumn } from "./alter_constraint.ts";
import { formatForeignKey, parseForeignKey, referencesItself } from "../schema/foreign_key.ts";
import type { TableSchema } from "../schema/table_schema.ts";
import { quoteName } from "../../sql/quote.ts";
import { createStatementError } from "./recreation_error.ts";

/** Applies RENAME COLUMN. */
export function renameColumn(schema: TableSchema, old: string, name: string): void {
  const column = findColumn(schema, old);
  if (schema.columns.some((one) => one.name === name)) {
    throw createStatementError(schema, `column ${JSON.stringify(name)} already exists`);
  }
  const rename = (names: string[]): string[] => names.map((one) => one === old ? name : one);
  if (column.added !== true) column.source ??= old;
  column.name = name;
  for (const one of schema.columns) {
    if (one.generated !== undefined) {
      one.generated.expression = renameIn(one.generated.expression, old, name);
    }
  }
  for (const one of schema.constraints) {
    if (one.type === "foreign_key") renameForeignKey(schema, one, rename);
    else one.definition = renameIn(one.definition, old, name);
    one.columns = rename(one.columns);
  }
  for (const one of schema.indexes) {
    one.definition = renameIn(one.definition, old, name);
    one.columns = rename(one.columns);
    if (one.keys !== undefined) one.keys = rename(one.keys);
  }
  for (const one of schema.referencedBy ?? []) {
    const parts = parseForeignKey(one.definition);
    one.definition = formatForeignKey({ ...parts, targets: rename(parts.targets) });
    if (one.references !== undefined) one.references.columns = rename(one.references.columns);
  }
  for (const one of schema.sequences ?? []) if (one.column === old) one.column = name;
  for (const one of schema.grants ?? []) if (one.column === old) one.column = name;
}

function renameForeignKey(
  schema: TableSchema,
  one: TableSchema["constraints"][number],
  rename: (names: string[]) => string[],
): void {
  const parts = parseForeignKey(one.definition);
  const targets = referencesItself(parts, schema) ? rename(parts.targets) : parts.targets;
  one.definition = formatForeignKey({ ...parts, columns: rename(parts.columns), targets });
  if (one.references !== undefined) one.references.columns = targets;
}

/**
 * Replaces a column's name in an expression. A name before `(` or `.` or after `::` refers to
 * another object.
 */
export function renameIn(text: string, from: string, to: string): string {
  const reader = parseStatement(text);
  const edits = new TokenEdits(reader);
  for (let at = 0; at < reader.size; at++) {
    if (!reader.isName(at) || getName(reader.token(at)!) !== from) continue;
    if (reader.key(at + 1) === "(" || reader.key(at + 1) === "." || reader.key(at - 1) === "::") {
      continue;
    }
    edits.replace(at, at + 1, quoteName(to));
  }
  return edits.isEmpty ? text : edits.apply();
}
