import { readLiteral } from "../../../sql/quote.ts";
import { type DeclaredTable, findObject } from "../../schema/declared_schema.ts";
import { type ColumnDefinition, readColumn } from "../../syntax/column_definition.ts";
import { isTableConstraint } from "../../syntax/table_constraint.ts";
import { deriveName, readName, writeName } from "../../../sql/sql_name.ts";
import { parseStatement, type StatementReader } from "../../../sql/statement_reader.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import type { StatementTranslation } from "../context/translation.ts";
import { warnOfOrder } from "./enum_order.ts";
import type { Lowering } from "./lowered.ts";
import { writeLabelCheck } from "./sql_text.ts";

/** Context for translating the columns of a statement. */
interface ColumnScope extends Lowering {
  readonly edits: TokenEdits;
  /** Table after the statement, if the files declare it. */
  readonly table: DeclaredTable | undefined;
  /** Name of the table. */
  readonly tableName: string;
  /** True if the statement quotes the table's name. */
  readonly isQuoted: boolean;
}

/** Rejects a default that is a string and not a label. */
export function checkDefault(
  reader: StatementReader,
  from: number,
  to: number,
  labels: readonly string[],
  name: string,
  t: StatementTranslation,
): void {
  const label = to === from + 1 || reader.key(from + 1) === "::"
    ? readLiteral(reader.token(from))
    : undefined;
  if (label !== undefined && !labels.includes(label)) {
    t.refuse("type-enum-label", `a default of column ${name} that is not a label of its enum`);
  }
}

/** Checks whether a type ends with `[]` or ARRAY. */
function isArrayType(reader: StatementReader, { typeFrom, typeTo }: ColumnDefinition): boolean {
  for (let at = typeFrom + 1; at < typeTo; at++) {
    if (reader.is(at, "[") || reader.is(at, "ARRAY")) return true;
  }
  return false;
}

/** Writes a column of an enum as text with a CHECK of the labels. Other columns are not changed. */
export function lowerColumn(column: ColumnDefinition, to: number, scope: ColumnScope): void {
  const { reader, edits, before, table, t } = scope;
  const type = findObject(before.enums, readName(reader, column.typeFrom));
  if (type === undefined || isArrayType(reader, column)) return;
  const { name } = column.name;
  const declared = table?.columns.find((one) => one.name === name);
  const check = declared?.labelCheck ?? deriveName(scope.tableName, name, "enum");
  const constraint = writeName(check, scope.isQuoted || column.name.isQuoted);
  t.apply("type-enum-check");
  warnOfOrder(`${scope.tableName}.${name}`, type, t);
  edits.replace(column.typeFrom, column.typeTo, "text");
  for (const clause of column.clauses) {
    if (clause.kind === "default") {
      checkDefault(reader, clause.bodyFrom + 1, clause.to, type.labels, name, t);
    }
  }
  edits.insertAfter(
    to - 1,
    ` CONSTRAINT ${constraint} ${writeLabelCheck(column.name.text, type.labels)}`,
  );
}

/** Rejects LIKE of a table, if the copy would lack the rules of its enum and serial columns. */
function checkLike({ reader, before, t }: ColumnScope, from: number, to: number): void {
  const source = findObject(before.tables, readName(reader, from + 1));
  const includes = (what: string): boolean => {
    for (let at = from + 2; at < to; at++) {
      if (reader.is(at, "INCLUDING", what) || reader.is(at, "INCLUDING", "ALL")) return true;
    }
    return false;
  };
  if (source?.columns.some((column) => column.numbering === "serial") && includes("DEFAULTS")) {
    t.refuse("serial-copy", "LIKE … INCLUDING DEFAULTS of a table with a serial column");
  }
  if (includes("CONSTRAINTS") || !source?.columns.some((column) => column.labelCheck)) return;
  t.refuse("type-enum-use", "LIKE of a table with an enum column, without INCLUDING CONSTRAINTS");
}

/** Translates CREATE TABLE: columns of enums become text with a CHECK of the labels. */
export function lowerCreateTable(lowering: Lowering): StatementReader {
  const { reader, after } = lowering;
  const tableAt = reader.find("TABLE", 1) + 1;
  const nameAt = reader.skip(tableAt, "IF", "NOT", "EXISTS");
  const written = readName(reader, nameAt);
  if (reader.key(written.end) !== "(") return reader;
  const table = findObject(after.tables, written);
  let isQuoted = false;
  for (let at = nameAt; at < written.end; at++) isQuoted ||= reader.token(at)?.kind === "quoted";
  const edits = new TokenEdits(reader);
  const scope: ColumnScope = { ...lowering, edits, table, tableName: written.name, isQuoted };
  for (const [from, to] of reader.listIn(written.end)) {
    if (reader.is(from, "LIKE")) checkLike(scope, from, to);
    else if (!isTableConstraint(reader, from)) lowerColumn(readColumn(reader, from, to), to, scope);
  }
  return edits.isEmpty ? reader : parseStatement(edits.apply());
}
