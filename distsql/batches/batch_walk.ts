import type { Row } from "../../sql/session.ts";
import type { BatchPlan } from "./batch_decision.ts";
import { fromList, getCondition, keyColumns } from "./count_rows.ts";
import type { ReadRows } from "./read_facts.ts";
import { filledColumn, getText, type RowChange } from "./row_change.ts";
import { compareKey } from "../../sql/key_range.ts";

/** One batch of a change. */
export interface Batch {
  /** The statement. */
  readonly sql: string;
  /** Key of its last row; omitted without a key. */
  readonly key?: readonly string[];
  /** Finds in the rows that the statement returns why the change cannot go on. */
  findFault(rows: readonly Row[]): string | undefined;
}

/** Iterator over the batches of a change. */
export interface BatchWalk {
  /**
   * Finds the next batch.
   *
   * @param after Key of the last row of the previous batch.
   * @param size Maximum number of rows.
   * @returns The batch, or `undefined` if no row is left.
   */
  next(after: readonly string[] | undefined, size: number): Promise<Batch | undefined>;
}

/**
 * Creates the iterator for a plan.
 *
 * @param change The statement.
 * @param plan The plan.
 * @param read Runs a query.
 */
export function createWalk(change: RowChange, plan: BatchPlan, read: ReadRows): BatchWalk {
  return plan.by === "key" ? walkAlongKey(change, plan, read) : walkByRowId(change, read);
}

/** Writes the statement with an additional condition. */
function writeChange(change: RowChange, condition: string): string {
  const start = getText(change, change.with);
  const joined = getText(change, change.from);
  const [verb, list] = change.verb === "update"
    ? [`UPDATE ${change.target} SET ${getText(change, change.set)}`, "FROM"]
    : [`DELETE FROM ${change.target}`, "USING"];
  const parts = [start, verb, joined && `${list} ${joined}`, "WHERE", narrow(change, condition)];
  return parts.filter((part) => part !== "").join(" ");
}

/** Adds a condition to that of a statement. */
function narrow(change: RowChange, condition: string): string {
  return [condition, getCondition(change)].filter((part) => part !== undefined).join(" AND ");
}

/** Visits each row once, in the order of the key, so that changed rows are never visited again. */
function walkAlongKey(change: RowChange, { key, table }: BatchPlan, read: ReadRows): BatchWalk {
  const columns = keyColumns(change, key);
  const names = key.map((_, place) => `k${String(place).padStart(2, "0")}`);
  const typed = columns.map((sql, place) => ({
    sql,
    type: table?.types.get(key[place]) ?? "text",
  }));
  const distinct = getText(change, change.from) === "" ? "" : "DISTINCT ";
  const keys = columns.map((column, place) => `${column} AS ${names[place]}`).join(", ");
  return {
    async next(after, size) {
      const start = after === undefined ? "true" : compareKey(typed, ">", after);
      const where = narrow(change, start);
      const page = `SELECT ${distinct}${keys} FROM ${fromList(change)} WHERE ${where} ` +
        `ORDER BY ${names.join(", ")}`;
      const texts = names.map((name) => `${name}::text AS ${name}`).join(", ");
      const backwards = names.map((name) => `page.${name} DESC`).join(", ");
      const [last] = await read(
        `${getText(change, change.with)} SELECT ${texts} ` +
          `FROM (${page} LIMIT ${size}) AS page ORDER BY ${backwards} LIMIT 1`,
      );
      if (last === undefined) return undefined;
      const end = names.map((name) => String(last[name]));
      return {
        sql: writeChange(change, `${start} AND ${compareKey(typed, "<=", end)}`),
        key: end,
        findFault: () => undefined,
      };
    },
  };
}

/** Takes any matching rows until there are none: a changed row no longer matches. */
function walkByRowId(change: RowChange, read: ReadRows): BatchWalk {
  const rowId = `${change.reference}.ctid`;
  const column = filledColumn(change);
  const where = getCondition(change) ?? "true";
  return {
    async next(_after, size) {
      const rows = `SELECT ${rowId} FROM ${fromList(change)} WHERE ${where} LIMIT ${size}`;
      const start = getText(change, change.with);
      const found = await read(
        `${start} SELECT 1 AS found FROM ${fromList(change)} WHERE ${where} LIMIT 1`,
      );
      if (found.length === 0) return undefined;
      const sql = writeChange(change, `${rowId} = ANY (ARRAY(${rows}))`);
      return {
        sql: column === undefined
          ? sql
          : `${sql} RETURNING ${change.reference}.${column} IS NULL AS is_open`,
        findFault(changed): string | undefined {
          if (!changed.some(({ is_open }) => is_open === true)) return undefined;
          return `The value for ${change.path}.${column} is NULL for some rows, and the table ` +
            "has no key to order the batches by: add a unique index over NOT NULL columns first, " +
            "or split the change into statements of under 3,000 rows each";
        },
      };
    },
  };
}
