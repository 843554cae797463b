import {
  type DeclaredEnum,
  type DeclaredSchema,
  type DeclaredTable,
  getKey,
} from "../../schema/declared_schema.ts";
import { readPart } from "../../schema/read_object.ts";
import { hasTextOrder } from "../enum_order/enum_class.ts";
import type { OrderUse } from "../enum_order/order_uses.ts";
import { rewriteOrder } from "../enum_order/rewrite_order.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import type { StatementTranslation } from "../translation.ts";
import type { Lowering } from "./lowered.ts";

/** Returns the columns of enums that a range of a statement names: `t.s`. */
function nameColumns(
  reader: StatementReader,
  { range: [from, to], types }: OrderUse,
  state: DeclaredSchema,
): string[] {
  const keys = new Set(types.map(getKey));
  const names = new Set<string>();
  for (let at = from; at < to; at++) if (reader.isName(at)) names.add(readPart(reader, at));
  return [...state.tables.values()].flatMap((table) =>
    table.columns
      .filter((column) =>
        column.enum !== undefined && keys.has(column.enum) && names.has(column.name)
      )
      .map((column) => `${table.name}.${column.name}`)
  );
}

/**
 * Rewrites uses of the order of an enum's labels to their positions. Where the enum is uncertain,
 * warns about a query that compares texts, and rejects a statement that decides about rows. Also
 * rejects values that are not labels.
 *
 * @param lowering The statement, with its casts to enums; receives rules, warnings and refusals.
 * @param table Table whose columns its expressions name, for CREATE TABLE, ALTER TABLE and CREATE
 * INDEX.
 * @returns The statement itself, or the changed one.
 */
export function lowerOrder(
  { reader: statement, before, t }: Lowering,
  table: DeclaredTable | undefined,
): StatementReader {
  const { reader, unproven, wrongLabels } = rewriteOrder(statement, before, table);
  for (const type of wrongLabels) {
    t.refuse("type-enum-label", `a value that is not a label of the enum ${type.name}`, type.name);
  }
  if (reader !== statement) t.apply("type-enum-position");
  for (const use of unproven) {
    const columns = nameColumns(reader, use, before);
    const what = columns.length === 0 ? "a value" : columns.join(", ");
    const enums = use.types.map((type) => type.name).join(", ");
    const message =
      `${use.what} ${what}: the enum ${enums} is ordered by position, but text is ordered ` +
      "alphabetically";
    if (decidesRows(reader)) t.refuse("type-enum-unproven", message, enums);
    else t.warn("type-enum-order", message, enums);
  }
  return reader;
}

const WRITES: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);

/**
 * Checks whether a statement changes rows, or decides about rows by a CHECK, key or generated
 * value.
 */
function decidesRows(reader: StatementReader): boolean {
  if (reader.is(0, "CREATE")) return !reader.is(1, "VIEW") && !reader.is(1, "OR", "REPLACE");
  if (reader.is(0, "ALTER")) return true;
  for (let at = 0; at < reader.size; at++) {
    if (reader.isOneOf(at, WRITES) && !reader.is(at - 1, "FOR")) return true;
  }
  return false;
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
