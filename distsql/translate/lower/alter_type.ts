import {
  type DeclaredColumn,
  type DeclaredEnum,
  type DeclaredSchema,
  findObject,
  getKey,
} from "../../schema/declared_schema.ts";
import type { ActionOf } from "../../syntax/alter_action.ts";
import { readPart } from "../../schema/read_object.ts";
import { deriveName, readName, writeName } from "../../../sql/sql_name.ts";
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

function getEnum(
  state: DeclaredSchema,
  column: DeclaredColumn | undefined,
): DeclaredEnum | undefined {
  return column?.enum === undefined ? undefined : state.enums.get(column.enum);
}

function sameLabels(a: DeclaredEnum | undefined, b: DeclaredEnum | undefined): boolean {
  return a !== undefined && b !== undefined && a.labels.length === b.labels.length &&
    a.labels.every((label) => b.labels.includes(label));
}

/**
 * Translates ALTER COLUMN … TYPE from or to an enum. A column that is text before and after keeps
 * its type and gets another CHECK. USING may only be a cast then.
 *
 * @param alteration The statement; receives the statements to run.
 * @param column The column before, if the files declare it.
 * @param action The action.
 */
export function lowerType(
  alteration: Alteration,
  column: DeclaredColumn | undefined,
  { column: { name, text }, valueAt: typeAt, from: start, to: end }: ActionOf<"alter_column">,
): void {
  const { reader, before, after, head, table, t } = alteration;
  const usingAt = reader.find("USING", typeAt, end);
  const typeTo = reader.findEnd("COLLATE", typeAt, usingAt < 0 ? end : usingAt);
  const written = readName(reader, typeAt);
  const isArray = written.end < typeTo &&
    (reader.is(written.end, "[") || reader.is(written.end, "ARRAY"));
  const to = findObject(before.enums, written);
  const from = getEnum(before, column);
  if (from === undefined && to === undefined) {
    return void alteration.actions.push(reader.text(start, end));
  }
  if (isArray) return t.refuse("type-array", "a column of an array type");
  t.apply("type-enum-check");
  const isKnown = from !== undefined && to !== undefined &&
    from.labels.join("\0") === to.labels.join("\0");
  if (to !== undefined && !isKnown) warnOfOrder(`${alteration.tableName}.${name}`, to, t);
  const type = to === undefined ? reader.text(typeAt, typeTo) : "text";
  const isPlain = usingAt < 0 || isColumnAsText(reader, usingAt + 1, end, name);
  const wasText = from !== undefined || column?.type.toLowerCase() === "text";
  const staysText = wasText && type.toLowerCase() === "text";
  if (!isPlain && (staysText || table === undefined)) {
    return t.refuse(
      "type-enum-change",
      `a type change of column ${name} with an expression in USING: make the column text first, ` +
        "change its values with UPDATE, and then its type with a cast",
    );
  }
  const keepsCheck = sameLabels(from, to);
  if (from !== undefined && !keepsCheck) {
    const check = writeName(column!.labelCheck ?? "", true);
    alteration.lead.push(parseStatement(`${head} DROP CONSTRAINT ${check};`));
  }
  if (!staysText) {
    const using = isPlain ? "" : ` USING ${reader.text(usingAt + 1, end)}`;
    alteration.actions.push(`ALTER COLUMN ${text} SET DATA TYPE ${type}${using}`);
  }
  if (to === undefined || keepsCheck) return;
  const changed = table &&
    after.tables.get(getKey(table))?.columns.find((one) => one.name === name);
  const check = changed?.labelCheck ?? deriveName(alteration.tableName, name, "enum");
  const definition = `${writeName(check, true)} ${writeLabelCheck(text, to.labels)}`;
  alteration.tail.push(parseStatement(`${head} ADD CONSTRAINT ${definition};`));
}
