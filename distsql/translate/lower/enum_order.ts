import {
  type DeclaredEnum,
  type DeclaredSchema,
  type DeclaredTable,
  type DeclaredView,
  getKey,
} from "../../schema/declared_schema.ts";
import { parseStatement, type StatementReader } from "../../../sql/statement_reader.ts";
import type { StatementTranslation } from "../translation.ts";
import { findOrderUses, findWrongLabels, hasTextOrder } from "./enum_uses.ts";
import type { Lowering } from "./lowered.ts";
import { columnsOfEnum } from "./sql_text.ts";

/** Statements that only read: another order of their rows changes nothing. */
const READS: ReadonlySet<string> = new Set(["SELECT", "VALUES", "EXPLAIN", "TABLE", "("]);
const WRITES: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);

/** Checks whether a statement reads rows and neither changes nor stores anything. */
function onlyReads(reader: StatementReader): boolean {
  if (!reader.isOneOf(0, READS) && !reader.is(0, "WITH")) return false;
  for (let at = 0; at < reader.size; at++) {
    if (reader.isOneOf(at, WRITES) && !reader.is(at - 1, "FOR")) return false;
  }
  return true;
}

/**
 * Rejects a statement that uses the order of an enum's labels, and values that are not labels. A
 * query that only reads gets a warning.
 *
 * @param lowering The statement; receives warnings and refusals.
 * @param table Table whose columns its expressions name, for CREATE TABLE, ALTER TABLE and CREATE
 * INDEX.
 */
export function checkOrder(
  { reader, before, t }: Lowering,
  table: DeclaredTable | undefined,
): void {
  for (const type of findWrongLabels(reader, before, table)) {
    t.refuse("type-enum-label", `a value that is not a label of the enum ${type.name}`, type.name);
  }
  for (const { what, types } of findOrderUses(reader, before, table)) {
    const enums = types.map((type) => type.name).join(", ");
    const message =
      `${what}: the enum ${enums} is ordered by position, but text is ordered alphabetically`;
    if (onlyReads(reader)) t.warn("type-enum-order", message, enums);
    else t.refuse("type-enum-unproven", message, enums);
  }
}

/** Warns about a column that is ordered as text from now on. */
export function warnOfOrder(column: string, type: DeclaredEnum, t: StatementTranslation): void {
  if (hasTextOrder(type)) return;
  t.warn(
    "type-enum-order",
    `column ${column}: the enum ${type.name} is ordered by position, but text is ordered ` +
      "alphabetically. Queries of the application that sort or compare this column return " +
      "another order",
    type.name,
  );
}

/** ALTER TYPE of an enum. */
export interface EnumChange extends Lowering {
  /** The enum before the change. */
  readonly found: DeclaredEnum;
}

/** Rejects the change of an enum. */
export function refuseChange(
  { found: { name }, t }: EnumChange,
  what: string,
  entry = "type-enum-change",
): void {
  t.refuse(entry, what, name);
}

/** Returns the tables that a view reads, also through other views. */
function listTables(state: DeclaredSchema, { sources }: DeclaredView): DeclaredTable[] {
  return sources.flatMap(({ relation }) => {
    const view = state.views.get(relation);
    return view === undefined ? state.tables.get(relation) ?? [] : listTables(state, view);
  });
}

/** Returns the views, CHECKs, indexes and generated columns that use the order of an enum. */
function findStoredOrders(state: DeclaredSchema, type: DeclaredEnum): string[] {
  const uses = (text: string, table?: DeclaredTable, read?: DeclaredTable[]): boolean =>
    findOrderUses(parseStatement(text), state, table, read)
      .some(({ types }) => types.includes(type));
  return [
    ...[...state.views.values()].filter((view) =>
      uses(view.text, undefined, listTables(state, view))
    ),
    ...[...state.tables.values()].flatMap((table) => [
      ...table.constraints.filter(({ kind, text }) => kind === "check" && uses(text, table)),
      ...table.indexes.filter(({ text }) => uses(text, table)),
      ...table.columns.filter(({ generated }) => generated !== undefined && uses(generated, table)),
    ]),
  ].map(({ name }) => name);
}

/**
 * Checks whether stored expressions stay correct with other labels; otherwise rejects the change.
 * Warns about columns.
 */
export function keepsOrder(change: EnumChange): boolean {
  const { found, before, after, t } = change;
  const changed = after.enums.get(getKey(found))!;
  const stored = findStoredOrders(after, changed);
  if (stored.length > 0) {
    const users = stored.join(", ");
    refuseChange(change, `a change of the enum ${found.name}, whose order is used by ${users}`);
    return false;
  }
  if (!hasTextOrder(found)) return true;
  for (const { table, column } of columnsOfEnum(before, found)) {
    warnOfOrder(`${table}.${column.name}`, changed, t);
  }
  return true;
}
