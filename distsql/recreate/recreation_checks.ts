import type { RecreationPlan } from "./recreation_plan.ts";
import { normalizeType } from "../schema/normalize_type.ts";
import type { TableSchema } from "../schema/table_schema.ts";

/**
 * Checks for an error that would occur again: no conflict, lost connection or lack of resources.
 */
export function isDefinite(sqlState: string): boolean {
  return /^(?:0A|0L|22|23|2B|42|44|54|P0)/.test(sqlState);
}

/** Checks whether two plans lead from the same table to the same table. */
export function isSamePlan(a: RecreationPlan, b: RecreationPlan): boolean {
  return JSON.stringify([a.current, a.desired]) === JSON.stringify([b.current, b.desired]);
}

/** Lists the properties that differ, without their values. */
export function listDifferences(live: object | undefined, planned: object): string {
  if (live === undefined) return "it was dropped";
  const [a, b] = [live as Record<string, unknown>, planned as Record<string, unknown>];
  return Object.keys({ ...a, ...b }).filter((key) =>
    JSON.stringify(a[key]) !== JSON.stringify(b[key])
  ).join(", ");
}

/**
 * Checks whether two tables have the same columns, types and key, which identifies a plan that is
 * done.
 */
export function isSameShape(a: TableSchema, b: TableSchema): boolean {
  const getShape = ({ columns, constraints }: TableSchema): string =>
    JSON.stringify([
      columns.map(({ name, type, notNull }) => [name, normalizeType(type), notNull]),
      constraints.map(({ name, type, columns }) => [name, type, columns].join()).sort(),
    ]);
  return getShape(a) === getShape(b);
}
