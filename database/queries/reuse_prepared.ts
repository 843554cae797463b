import { is, SQL, Subquery, View } from "drizzle-orm";
import type { DrizzleClient } from "../providers/provider.ts";

type Prepared = object;
type Method = (...args: unknown[]) => unknown;

/** What builders are made and refined with. A statement that is prepared already needs none of these calls to be made. */
const BUILDING: ReadonlySet<PropertyKey> = new Set([
  ...["select", "selectDistinct", "selectDistinctOn", "insert", "update", "delete", "findMany", "findFirst"],
  ...["from", "where", "groupBy", "having", "orderBy", "limit", "offset", "for", "values", "set", "returning"],
  ...["leftJoin", "rightJoin", "innerJoin", "fullJoin", "crossJoin", "$dynamic"],
  ...["onConflictDoNothing", "onConflictDoUpdate", "overridingSystemValue"],
]);

const FIRST_STEPS = ["prepare", "from", "values", "set"] as const;

/** What a chain of calls goes on with: not a promise, an expression or a subquery. */
function isBuilder(value: unknown): value is object {
  if (typeof value !== "object" || value === null || value instanceof Promise) return false;
  if (is(value, SQL) || is(value, Subquery) || is(value, View)) return false;
  return FIRST_STEPS.some((step) => typeof (value as Record<string, unknown>)[step] === "function");
}

/** A call that was put off, and what stands for its result. */
interface Call {
  on: View_;
  method: PropertyKey;
  args: unknown[];
  result: View_;
}
