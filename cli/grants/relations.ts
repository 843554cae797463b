import * as drizzle from "drizzle-orm";
import { isKind } from "../../database/session/drizzle_table.ts";
import { isDrizzleOne } from "../../database/session/drizzle_version.ts";
import type { LoadedFunction } from "../project/loaded_function.ts";
import { renderSql } from "../schema_migration/column_definition.ts";
import { findTableName } from "./drizzle_values.ts";

/** The tables of a relation. */
export interface Relation {
  readonly target: unknown;
  /** The table of `through` of drizzle 1.0. */
  readonly junction?: unknown;
  /** Returns the SQL in the condition of a relation of drizzle 1.0; `undefined` for what is unknown. */
  readonly condition?: () => (string | undefined)[];
}

/** Relations by name. */
type Relations = Readonly<Record<string, Relation>>;

const relationsByFunction: WeakMap<LoadedFunction, Map<unknown, Relations>> = new WeakMap();

/** Returns the relations of a function's tables. */
export function getRelations(fn: LoadedFunction): ReadonlyMap<unknown, Relations> {
  const known = relationsByFunction.get(fn);
  if (known !== undefined) return known;
  const found = new Map<unknown, Relations>();
  for (const name of fn.syntax.declarations.keys()) {
    const value = fn.evaluateName(name);
    for (const [table, relations] of isDrizzleOne ? listDefined(value) : listDeclared(value)) {
      if (findTableName(table) === undefined) continue;
      found.set(table, { ...found.get(table), ...relations });
    }
  }
  relationsByFunction.set(fn, found);
  return found;
}

type TableRelations = readonly [table: unknown, relations: Relations];

/** Lists the relations of a value of `relations(table, …)` in drizzle 0.45. */
function listDeclared(value: unknown): TableRelations[] {
  const { table, config } = Object(value);
  if (typeof config !== "function" || findTableName(table) === undefined) return [];
  const toTable = (target: unknown) => ({ withFieldName: () => ({ target }) });
  return [[table, config({ one: toTable, many: toTable })]];
}

/** Lists the relations of a value of `defineRelations(tables, …)` in drizzle 1.0. */
function listDefined(value: unknown): TableRelations[] {
  if (Object.getPrototypeOf(Object(value)) !== Object.prototype) return [];
  return Object.values(value as object).map((each) => {
    const { table, relations } = Object(each);
    const entries = Object.entries(Object(relations)).map(([name, relation]) => {
      const { targetTable: target, throughTable: junction, where } = Object(relation);
      const filtered = Object(relation).isFilterReversed === true ? table : target;
      return [name, { target, junction, condition: () => readFilter(where, filtered) }];
    });
    return [table, Object.fromEntries(entries)];
  });
}

function readFilter(filter: unknown, table: unknown): (string | undefined)[] {
  try {
    return listFilterSql(filter, table);
  } catch {
    return [undefined];
  }
}

/** Lists the SQL in a filter of drizzle 1.0; other conditions name columns of the same table. */
function listFilterSql(filter: unknown, table: unknown): string[] {
  if (isKind(filter, "SQL")) return [renderSql(filter as drizzle.SQL)];
  if (Array.isArray(filter)) return filter.flatMap((each) => listFilterSql(each, table));
  if (Object.getPrototypeOf(Object(filter)) !== Object.prototype) return [];
  return Object.entries(filter as object).flatMap(([key, value]) => {
    // drizzle's operators are among its exports
    const isCalled = key === "RAW" && typeof value === "function";
    return listFilterSql(isCalled ? value(table, drizzle) : value, table);
  });
}
