import { is, SQL, Subquery, View } from "drizzle-orm";
import type { DrizzleClient } from "../providers/provider.ts";

type Prepared = object;

/**
 * A view of a client whose `.prepare(name)` gives what it gave for that name before, without building the SQL again.
 *
 * @param db The client; when it is replaced, its view must be too.
 * @returns The view.
 */
export function reusePrepared<TSchema extends Record<string, unknown>>(
  db: DrizzleClient<TSchema>,
): DrizzleClient<TSchema> {
  return view(db, new Map()) as DrizzleClient<TSchema>;
}

function view(target: object, prepared: Map<string, Prepared>): object {
  return new Proxy(target, {
    get(builder, key): unknown {
      const value: unknown = Reflect.get(builder, key);
      // relational queries hang below `query`, one object for each table
      if (typeof value === "object" && value !== null) {
        return key === "query" || "findMany" in value ? view(value, prepared) : value;
      }
      if (typeof value !== "function") return value;
      if (key === "prepare") {
        return function prepareOnce(name: string): Prepared {
          let known = prepared.get(name);
          if (known === undefined) prepared.set(name, known = value.call(builder, name) as Prepared);
          return known;
        };
      }
      return function callBuilder(...args: unknown[]): unknown {
        const result: unknown = value.apply(builder, args);
        return isBuilder(result) ? view(result, prepared) : result;
      };
    },
  });
}

const FIRST_STEPS = ["prepare", "from", "values", "set"] as const;

/** What a chain of calls goes on with: not a promise, an expression or a subquery. */
function isBuilder(value: unknown): value is object {
  if (typeof value !== "object" || value === null || value instanceof Promise) return false;
  if (is(value, SQL) || is(value, Subquery) || is(value, View)) return false;
  return FIRST_STEPS.some((step) => typeof (value as Record<string, unknown>)[step] === "function");
}
