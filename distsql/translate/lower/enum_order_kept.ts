import {
  type DeclaredEnum,
  type DeclaredSchema,
  getKey,
  type StoredOrder,
} from "../../schema/declared_schema.ts";
import { hasTextOrder } from "../enum_order/enum_class.ts";
import { warnOfOrder } from "./enum_order.ts";
import type { Lowering } from "./lowered.ts";
import { columnsOfEnum } from "./sql_text.ts";

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

/**
 * Returns the views, CHECKs, indexes and generated columns that use the order of an enum's labels.
 */
function findStoredOrders(before: DeclaredSchema, changed: DeclaredEnum): string[] {
  const key = getKey(changed);
  const holds = ({ ordersBy }: { ordersBy?: readonly StoredOrder[] }): boolean =>
    ordersBy?.some((order) => order.enum === key && !(order.isText && hasTextOrder(changed))) ??
      false;
  return [
    ...[...before.views.values()].filter(holds),
    ...[...before.tables.values()].flatMap(({ constraints, indexes, columns }) =>
      [...constraints, ...indexes, ...columns].filter(holds)
    ),
  ].map(({ name }) => name);
}

/**
 * Checks whether stored expressions stay correct with other labels; otherwise rejects the change.
 * Warns about columns.
 */
export function keepsOrder(change: EnumChange): boolean {
  const { found, before, after, t } = change;
  const changed = after.enums.get(getKey(found))!;
  const stored = findStoredOrders(before, changed);
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
