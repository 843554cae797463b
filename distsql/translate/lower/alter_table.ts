import { deriveName, readName, writeName } from "../../../sql/sql_name.ts";
import { parseStatement, type StatementReader } from "../../../sql/statement_reader.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import {
  type DeclaredColumn,
  type DeclaredEnum,
  type DeclaredSchema,
  findObject,
  getKey,
} from "../../schema/declared_schema.ts";
import { readPart } from "../../schema/read_object.ts";
import { type ActionOf, type AlterAction, readAlterActions } from "../../syntax/alter_action.ts";
import { asyncTableAt } from "../../syntax/statement_table.ts";
import { checkDefault, lowerColumn } from "./enum_column.ts";
import { warnOfOrder } from "./enum_order.ts";
import type { Alteration, Lowered, Lowering } from "./lowered.ts";
import { lowerSerial } from "./serial.ts";
import { writeLabelCheck } from "./sql_text.ts";

function lowerAlterColumn(alteration: Alteration, action: ActionOf<"alter_column">): void {
  const { reader, before, table, t } = alteration;
  const { column: { name }, change, valueAt, from, to } = action;
  const column = table?.columns.find((one) => one.name === name);
  if (column?.numbering === "serial" && lowerSerial(alteration, column, action) === "done") return;
  if (change === "type" && t.options.enums === "check") {
    return lowerType(alteration, column, action);
  }
  const labels = column?.enum === undefined ? undefined : before.enums.get(column.enum)?.labels;
  if (labels && change === "set_default") checkDefault(reader, valueAt, to, labels, name, t);
  alteration.actions.push(reader.text(from, to));
}

function lowerAction(alteration: Alteration, action: AlterAction): void {
  const { reader, after, table, t, actions } = alteration;
  if (action.kind === "alter_column") return lowerAlterColumn(alteration, action);
  const edits = new TokenEdits(reader);
  if (action.kind === "add_column" && t.options.enums === "check") {
    const isQuoted = alteration.tableText.includes('"');
    const changed = table && after.tables.get(getKey(table));
    lowerColumn(action.column, action.to, { ...alteration, edits, table: changed, isQuoted });
  }
  const { from, to } = action;
  actions.push(edits.isEmpty ? reader.text(from, to) : edits.apply(from, to));
}

/** Rejects a constraint with the name of the CHECK that replaces an enum. */
function checkNames({ table, t, all }: Alteration): void {
  const own = new Set(table?.columns.flatMap((column) => column.labelCheck ?? []));
  for (const action of all) {
    const { name = "" } = action.kind === "add_constraint" ? action.constraint.name ?? {} : {};
    if (own.has(name)) {
      t.refuse(
        "type-enum-change",
        `a constraint named ${name}, which is the name of an enum column's CHECK`,
      );
    }
  }
}

/**
 * Translates ALTER TABLE: enum columns become text with a CHECK, and `serial` columns are
 * identities.
 *
 * @param lowering The statement; receives rules and refusals.
 * @returns The statements and steps, in order.
 */
export function lowerAlterTable(lowering: Lowering): Lowered[] {
  const { reader, before } = lowering;
  if (asyncTableAt(reader) >= 0) return [reader];
  const nameAt = reader.alteredTableAt();
  const written = readName(reader, nameAt);
  const alteration: Alteration = {
    ...lowering,
    table: findObject(before.tables, written),
    head: reader.text(0, written.end),
    tableText: reader.text(nameAt, written.end),
    tableName: written.name,
    all: readAlterActions(reader),
    lead: [],
    actions: [],
    tail: [],
  };
  const { head, all, lead, actions, tail } = alteration;
  checkNames(alteration);
  for (const action of all) lowerAction(alteration, action);
  const isSame = lead.length === 0 && tail.length === 0 && actions.length === all.length &&
    actions.every((action, index) => action === reader.text(all[index].from, all[index].to));
  if (isSame) return [reader];
  const main = actions.length === 0 ? [] : [parseStatement(`${head} ${actions.join(", ")};`)];
  return [...lead, ...main, ...tail];
}

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
function lowerType(
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
