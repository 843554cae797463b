import {
  type DeclaredColumn,
  type DeclaredEnum,
  type DeclaredSchema,
  findObject,
  getKey,
} from "../../schema/declared_schema.ts";
import { readObject, readPart } from "../../schema/read_object.ts";
import { deriveName, writeName } from "../../../sql/sql_name.ts";
import { parseStatement, type StatementReader } from "../../../sql/statement_reader.ts";
import type { Alteration } from "./lowered.ts";
import { warnOfOrder } from "./enum_order.ts";
import { writeLabelCheck } from "./sql_text.ts";

/** Types without a length that can hold any text. */
const TEXTS: ReadonlySet<string> = new Set(["text", "varchar"]);

/**
 * Checks for a column, possibly cast to text. Casts to enums were already replaced by casts to
 * text.
 */
function isColumnAsText(
  reader: StatementReader,
  from: number,
  to: number,
  column: string,
): boolean {
  if (reader.is(from, "(") && reader.next(from) === to) {
    return isColumnAsText(reader, from + 1, to - 1, column);
  }
  if (reader.is(from, "CAST", "(") && reader.next(from + 1) === to && reader.is(to - 3, "AS")) {
    return TEXTS.has(readPart(reader, to - 2)) && isColumnAsText(reader, from + 2, to - 3, column);
  }
  if (reader.is(to - 2, "::")) {
    return TEXTS.has(readPart(reader, to - 1)) && isColumnAsText(reader, from, to - 2, column);
  }
  if (reader.is(to - 3, "::", "CHARACTER", "VARYING")) {
    return isColumnAsText(reader, from, to - 3, column);
  }
  return reader.nameEnd(from) === to && readPart(reader, to - 1) === column;
}

/** Change of a column's type. */
interface TypeChange {
  readonly name: string;
  /** Column, as written. */
  readonly text: string;
  readonly from: DeclaredEnum | undefined;
  readonly to: DeclaredEnum | undefined;
  /** New type; text for an enum. */
  readonly type: string;
  /** Expression of USING, unless it is the column itself. */
  readonly using: string | undefined;
}

function getEnum(
  state: DeclaredSchema,
  column: DeclaredColumn | undefined,
): DeclaredEnum | undefined {
  return column?.enum === undefined || column.isArray ? undefined : state.enums.get(column.enum);
}

function sameLabels(a: DeclaredEnum | undefined, b: DeclaredEnum | undefined): boolean {
  return a !== undefined && b !== undefined && a.labels.length === b.labels.length &&
    a.labels.every((label) => b.labels.includes(label));
}

/** Checks whether a column is part of a key, so that its values cannot be changed row by row. */
function isInKey({ table }: Alteration, name: string): boolean {
  return table!.constraints.some((one) => one.kind !== "check" && one.columns.includes(name)) ||
    table!.indexes.some((one) => one.isUnique && one.columns.includes(name));
}

/** Changes the values with USING, if the column is text before and after. */
function changeValues(alteration: Alteration, { text, name, using }: TypeChange): void {
  const { tableText: table, tail, t } = alteration;
  if (using === undefined) return;
  if (isInKey(alteration, name)) {
    return t.refuse(
      "type-enum-change",
      `a type change of column ${name} whose USING changes the values of a key`,
    );
  }
  const set = `${text} = ${using}`;
  tail.push({ sql: `UPDATE ${table} SET ${set};`, batch: { verb: "update", table, set } });
}

function writeChange(
  alteration: Alteration,
  column: DeclaredColumn | undefined,
  change: TypeChange,
): void {
  const { head, lead, tail, actions, table, after } = alteration;
  const { name, text, from, to, type, using } = change;
  const wasText = from !== undefined || column?.type.toLowerCase() === "text";
  const isText = type.toLowerCase() === "text";
  const keepsCheck = sameLabels(from, to) && using === undefined;
  if (from !== undefined && !keepsCheck) {
    const check = writeName(column!.labelCheck ?? "", true);
    lead.push(parseStatement(`${head} DROP CONSTRAINT ${check};`));
  }
  if (wasText && isText) changeValues(alteration, change);
  else {
    const clause = using === undefined ? "" : ` USING ${using}`;
    actions.push(`ALTER COLUMN ${text} SET DATA TYPE ${type}${clause}`);
  }
  if (to === undefined || keepsCheck) return;
  const changed = table &&
    after.tables.get(getKey(table))?.columns.find((one) => one.name === name);
  const check = changed?.labelCheck ?? deriveName(alteration.tableName, name, "enum");
  const definition = `${writeName(check, true)} ${writeLabelCheck(text, to.labels)}`;
  tail.push(parseStatement(`${head} ADD CONSTRAINT ${definition};`));
}

/**
 * Translates ALTER COLUMN … TYPE from or to an enum. A column that is text before and after keeps
 * its type and gets another CHECK. USING with more than a cast changes the rows.
 *
 * @param alteration The statement; receives the statements to run.
 * @param column The column before, if the files declare it.
 * @param nameAt Position of the column's name.
 * @param typeAt Position of the new type.
 * @param end End of the action.
 * @param text The action, as written.
 */
export function lowerType(
  alteration: Alteration,
  column: DeclaredColumn | undefined,
  nameAt: number,
  typeAt: number,
  end: number,
  action: string,
): void {
  const { reader, before, actions, table, t } = alteration;
  const usingAt = reader.find("USING", typeAt, end);
  const typeTo = reader.findEnd("COLLATE", typeAt, usingAt < 0 ? end : usingAt);
  const written = readObject(reader, typeAt);
  const isArray = written.end < typeTo &&
    (reader.is(written.end, "[") || reader.is(written.end, "ARRAY"));
  const to = findObject(before.enums, written);
  const from = getEnum(before, column);
  if (from === undefined && to === undefined) return void actions.push(action);
  if (isArray) return t.refuse("type-array", "a column of an array type");
  t.apply("type-enum-check");
  const name = readPart(reader, nameAt);
  const isKnown = from !== undefined && to !== undefined &&
    from.labels.join("\0") === to.labels.join("\0");
  if (to !== undefined && !isKnown) warnOfOrder(`${alteration.tableName}.${name}`, to, t);
  const isPlain = usingAt < 0 || isColumnAsText(reader, usingAt + 1, end, name);
  if (table === undefined && !isPlain) {
    return t.refuse(
      "type-enum-change",
      `a type change with USING of column ${name}, whose type the files do not declare`,
    );
  }
  writeChange(alteration, column, {
    name,
    text: reader.text(nameAt, nameAt + 1),
    from,
    to,
    type: to === undefined ? reader.text(typeAt, typeTo) : "text",
    using: isPlain ? undefined : reader.text(usingAt + 1, end),
  });
}
