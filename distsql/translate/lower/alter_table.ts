import { readName } from "../../../sql/sql_name.ts";
import { type ActionOf, type AlterAction, readAlterActions } from "../../syntax/alter_action.ts";
import { findObject, getKey } from "../../schema/declared_schema.ts";
import { asyncTableAt } from "../../syntax/statement_table.ts";
import { parseStatement } from "../../../sql/statement_reader.ts";
import { TokenEdits } from "../../../sql/token_edits.ts";
import { checkDefault, lowerColumn } from "./enum_column.ts";
import type { Alteration, Lowered, Lowering } from "./lowered.ts";
import { lowerSerial } from "./serial.ts";
import { lowerType } from "./alter_type.ts";

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
