import type { Row } from "../../providers/provider.ts";
import { literal } from "../history.ts";
import { MigrationError } from "../migration_error.ts";
import type { BatchPlan } from "./batch_decision.ts";
import { fromList, getCondition, keyColumns } from "./count_rows.ts";
import type { ReadRows } from "./read_facts.ts";
import { filledColumn, getText, type RowChange } from "./row_change.ts";

/** One batch. */
export interface Batch {
  /** The statement. */
  readonly sql: string;
  /** The key of its last row; not given where no key is gone along. */
  readonly key?: readonly string[];
  /** Looks at the rows that the statement returns. */
  check(rows: readonly Row[]): void;
}

/** Cuts a change of rows into batches. */
export interface BatchWalk {
  /**
   * Finds the next batch.
   *
   * @param after The key of the last row of the batch before it.
   * @param size How many rows it may have.
   * @returns The batch, or `undefined` when no row is left.
   */
  next(after: readonly string[] | undefined, size: number): Promise<Batch | undefined>;
}

/**
 * Makes the walk of a plan.
 *
 * @param change The statement.
 * @param plan How it is cut.
 * @param read Runs a query.
 */
export function createWalk(change: RowChange, plan: BatchPlan, read: ReadRows): BatchWalk {
  return plan.by === "key" ? walkAlongKey(change, plan, read) : walkByRowId(change, read);
}

/** Writes the statement for the rows that meet a further condition. */
function writeChange(change: RowChange, condition: string): string {
  const start = getText(change, change.with);
  const joined = getText(change, change.from);
  const where = [condition, getCondition(change)].filter((part) => part !== undefined).join(
    " AND ",
  );
  const [verb, list] = change.verb === "update"
    ? [`UPDATE ${change.target} SET ${getText(change, change.set)}`, "FROM"]
    : [`DELETE FROM ${change.target}`, "USING"];
  return [start, verb, ...(joined === "" ? [] : [list, joined]), "WHERE", where].filter((part) =>
    part !== ""
  ).join(
    " ",
  );
}

/** Each row is looked at once, in the order of the key: what a batch changes is never met again. */
function walkAlongKey(change: RowChange, { key, table }: BatchPlan, read: ReadRows): BatchWalk {
  const columns = keyColumns(change, key);
  const names = key.map((_, place) => `k${String(place).padStart(2, "0")}`);
  const row = `(${columns.join(", ")})`;
  const value = (values: readonly string[]): string =>
    `(${
      values.map((text, place) => `${literal(text)}::${table?.types.get(key[place]) ?? "text"}`)
        .join(", ")
    })`;
  const distinct = getText(change, change.from) === "" ? "" : "DISTINCT ";
  const keys = columns.map((column, place) => `${column} AS ${names[place]}`).join(", ");
  return {
    async next(after, size) {
      const start = after === undefined ? "true" : `${row} > ${value(after)}`;
      const where = [start, getCondition(change)].filter((part) => part !== undefined).join(
        " AND ",
      );
      const page = `SELECT ${distinct}${keys} FROM ${fromList(change)} WHERE ${where} ORDER BY ${
        names.join(", ")
      }`;
      const [last] = await read(
        `${getText(change, change.with)} SELECT ${
          names.map((name) => `${name}::text AS ${name}`).join(", ")
        } ` +
          `FROM (${page} LIMIT ${size}) AS page ORDER BY ${
            names.map((name) => `page.${name} DESC`).join(", ")
          } LIMIT 1`,
      );
      if (last === undefined) return undefined;
      const end = names.map((name) => String(last[name]));
      return {
        sql: writeChange(change, `${start} AND ${row} <= ${value(end)}`),
        key: end,
        check: () => {},
      };
    },
  };
}

/** Takes any rows that meet the condition, until there are none: a row that was changed does not meet it any more. */
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
        check(changed): void {
          if (!changed.some(({ is_open }) => is_open === true)) return;
          throw new MigrationError(
            `The value for ${change.path}.${column} is NULL for some rows, and the table has no key to go along: ` +
              "add a unique index over NOT NULL columns first, or write the change in parts of under 3,000 rows",
          );
        },
      };
    },
  };
}
