import { compareKey } from "../../sql/key_range.ts";
import { quoteName } from "../../sql/quote.ts";
import type { RunSql } from "../../sql/session.ts";
import type { BatchPlan } from "./decide_batch.ts";
import { getCondition, getText, type RowChange } from "./row_change.ts";

/** One batch of a change. */
export interface Batch {
  /** The statement. */
  readonly sql: string;
  /** Key of its last row. */
  readonly key: readonly string[];
}

/** Progress of a change in batches. */
export interface BatchProgress {
  /** Key of the last visited row; omitted before the first batch. */
  readonly key?: readonly string[];
  /** Value of `now()` in all batches. */
  readonly moment?: string;
}

/** Parses the progress recorded by an earlier run. */
export function readProgress(watermark: string | undefined): BatchProgress {
  if (watermark === undefined) return {};
  const value: readonly string[] | BatchProgress = JSON.parse(watermark);
  return Array.isArray(value) ? { key: value } : value as BatchProgress;
}

/** Formats the progress for the record of each batch. */
export function writeProgress({ key, moment }: BatchProgress): string {
  return JSON.stringify(key !== undefined && moment === undefined ? key : { key, moment });
}

/**
 * Finds the next batch of a change. Batches visit each row once, in the order of the key, so that
 * changed rows are never visited again.
 *
 * @param change The statement.
 * @param plan The plan.
 * @param after Key of the last row of the previous batch.
 * @param size Maximum number of rows.
 * @param run Runs a query.
 * @returns The batch, or `undefined` if no row is left.
 */
export async function findBatch(
  change: RowChange,
  { key }: BatchPlan,
  after: readonly string[] | undefined,
  size: number,
  run: RunSql,
): Promise<Batch | undefined> {
  // a joined table may have columns of the same names
  const typed = key.map(({ name, type }) => ({
    sql: `${change.reference}.${quoteName(name)}`,
    type,
  }));
  const names = key.map((_, place) => `k${String(place).padStart(2, "0")}`);
  const keys = typed.map(({ sql }, place) => `${sql} AS ${names[place]}`).join(", ");
  const start = after === undefined ? "true" : compareKey(typed, ">", after);
  const joined = getText(change, change.from);
  const from = joined === "" ? change.target : `${change.target}, ${joined}`;
  const page = `SELECT ${keys} FROM ${from} WHERE ${narrow(change, start)} ` +
    `ORDER BY ${names.join(", ")} LIMIT ${size}`;
  const texts = names.map((name) => `${name}::text AS ${name}`).join(", ");
  const backwards = names.map((name) => `page.${name} DESC`).join(", ");
  const [last] = await run(`SELECT ${texts} FROM (${page}) AS page ORDER BY ${backwards} LIMIT 1`);
  if (last === undefined) return undefined;
  const end = names.map((name) => String(last[name]));
  return { sql: writeChange(change, `${start} AND ${compareKey(typed, "<=", end)}`), key: end };
}

/** Writes the statement with an additional condition. */
function writeChange(change: RowChange, condition: string): string {
  const joined = getText(change, change.from);
  const [verb, list] = change.verb === "update"
    ? [`UPDATE ${change.target} SET ${getText(change, change.set)}`, "FROM"]
    : [`DELETE FROM ${change.target}`, "USING"];
  const parts = [verb, joined && `${list} ${joined}`, "WHERE", narrow(change, condition)];
  return parts.filter((part) => part !== "").join(" ");
}

/** Adds a condition to that of a statement. */
function narrow(change: RowChange, condition: string): string {
  return [condition, getCondition(change)].filter((part) => part !== undefined).join(" AND ");
}
