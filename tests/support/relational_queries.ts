/**
 * Relations and conditions of `db.query` in the form of the installed drizzle, so that the same tests run
 * with 0.45 and 1.0.
 */
import type { Column, SQL, Table } from "drizzle-orm";
import * as drizzle from "drizzle-orm";
import { isKind, isTable } from "../../database/session/drizzle_table.ts";
import { isDrizzleOne } from "../../database/session/drizzle_version.ts";

type Relations = typeof drizzle.relations;
type Helpers = Record<"one" | "many", Record<string, (settings?: object) => unknown>>;

/** What drizzle 1.0 has and 0.45 has not. */
interface NewDrizzle {
  defineRelations(tables: object, define: (r: Helpers & Record<string, object>) => object): object;
  mapColumnsInSQLToAlias(expression: unknown, alias: string): SQL;
}

const next = drizzle as unknown as NewDrizzle;

/** Relations that {@link toSchema} gives to `defineRelations`. */
class Declared {
  constructor(readonly table: Table, readonly define: (helpers: never) => object) {}
}

/** drizzle 0.45's `relations`. */
export const relations: Relations = isDrizzleOne
  ? ((table: Table, define: never) => new Declared(table, define)) as unknown as Relations
  : drizzle.relations;

/** Returns the schema of a client: tables and {@link relations}. */
export function toSchema<T extends Record<string, unknown>>(schema: T): T {
  if (!isDrizzleOne) return schema;
  const tables = Object.entries(schema).filter(([, value]) => isTable(value));
  const keyOf = (table: unknown) => tables.find(([, one]) => one === table)![0];
  const declared = Object.values(schema).filter((value) => value instanceof Declared);
  return next.defineRelations(Object.fromEntries(tables), (r) => {
    const columnOf = (column: Column): unknown => {
      const entries = Object.entries(column.table as object);
      const [property] = entries.find(([, one]) => one === column)!;
      return (r[keyOf(column.table)] as Record<string, unknown>)[property];
    };
    const helpers = {
      many: (table: Table) => r.many[keyOf(table)](),
      one: (table: Table, { fields, references }: Record<string, Column[]>) =>
        r.one[keyOf(table)]({ from: fields.map(columnOf), to: references.map(columnOf) }),
    };
    return Object.fromEntries(
      declared.map(({ table, define }) => [keyOf(table), define(helpers as never)]),
    );
  }) as T;
}

/** Returns an expression of a relational query, in which drizzle 1.0 gives another name to the table. */
function inQuery(expression: SQL | SQL.Aliased): (table: Table) => SQL {
  const inner = isKind(expression, "SQL.Aliased") ? (expression as SQL.Aliased).sql : expression;
  return (table) => next.mapColumnsInSQLToAlias(inner, drizzle.getTableName(table));
}

/** Returns a condition for `where`. */
export function toWhere(condition: SQL): SQL {
  return isDrizzleOne ? { RAW: inQuery(condition) } as never : condition;
}

/** Returns an expression for `extras`. */
export function toExtra<T extends SQL.Aliased>(expression: T): T {
  return isDrizzleOne ? inQuery(expression) as never : expression;
}

/** Returns a column for `orderBy`. */
export function toOrder<T extends Column>(column: T): T {
  return isDrizzleOne ? inQuery(drizzle.sql`${column}`) as never : column;
}
