import { compareKey } from "../../sql/key_range.ts";
import { qualify, quoteLiteral, quoteName } from "../../sql/quote.ts";
import type { RunSql } from "../../sql/session.ts";
import { readColumnSyncs } from "./column_sync.ts";
import { countMatching } from "./count_rows.ts";
import {
  type BatchDecision,
  type BatchPlan,
  type BatchRefusal,
  decideBatch,
  isTrigger,
  readScope,
} from "./decide_batch.ts";
import { readFunctions, readRelation } from "./relation.ts";
import { getCondition, getPath, getText, readRowChange, type RowChange } from "./row_change.ts";
import { MAX_ROWS } from "./run_batches.ts";
import { getName } from "../../sql/sql_name.ts";
import { parseStatement, type StatementReader } from "../../sql/statement_reader.ts";
import { TokenEdits } from "../../sql/token_edits.ts";
import { TIME_FUNCTIONS } from "../syntax/known_functions.ts";

/** Key of the last row of a batch. */
export type BatchKey = readonly string[];

/** UPDATE or DELETE that runs in batches. `now()` is the same moment in all of them. */
export interface BatchedChange {
  /** Always `true`. */
  readonly isBatchable: true;
  /** Path of the table, for messages. */
  readonly table: string;
  /** The table as SQL. */
  readonly relation: string;
  /** Key after which to continue; omitted before the first batch. */
  readonly start: BatchKey | undefined;
  /**
   * Finds the next batch.
   *
   * @param after Key of the last row of the previous batch.
   * @param size Maximum number of rows.
   * @returns The statement, its key, the number of its rows and the text that records it;
   * `undefined` if no row is left.
   */
  next(
    after: BatchKey | undefined,
    size: number,
  ): Promise<(Batch & { readonly mark: string }) | undefined>;
  /** Estimates the number of rows that are left, as the server's planner does. */
  estimate(): Promise<number | undefined>;
  /** Reads the key in a recorded text. */
  readKey(mark: string | undefined): BatchKey | undefined;
}

/**
 * Decides from the current catalog whether a statement can be split into batches.
 *
 * @param sql The statement.
 * @param run Runs a query.
 * @returns The decision, or `undefined` if the statement neither updates nor deletes.
 */
export async function decideChange(sql: string, run: RunSql): Promise<BatchDecision | undefined> {
  const change = readRowChange(sql);
  if (change === undefined) return undefined;
  const functions = await readFunctions(run);
  const scope = await readScope(change, (name) => readRelation(run, name), functions);
  const { table } = scope;
  if (typeof table !== "object" || table.dependents?.some(isTrigger) !== true) {
    return decideBatch(change, scope);
  }
  const syncs = (await readColumnSyncs(run, functions))
    .filter((sync) => sync.schema === table.schema && sync.table === table.name);
  return decideBatch(change, { ...scope, syncs });
}

/**
 * Checks whether a statement changes more rows than a transaction can, and can be split into
 * batches.
 *
 * @param sql The statement.
 * @param run Runs a query.
 */
export async function needsBatches(sql: string, run: RunSql): Promise<boolean> {
  const change = readRowChange(sql);
  if (change === undefined || change.verb === "compound") return false;
  if (await countMatching(change, run) <= MAX_ROWS) return false;
  return (await decideChange(sql, run))?.isBatchable === true;
}

/**
 * Prepares a statement for its batches.
 *
 * @param sql The statement.
 * @param mark Recorded text of an earlier run.
 * @param run Runs a query.
 * @returns The change, or why it cannot be split; `undefined` if it neither updates nor deletes.
 */
export async function openChange(
  sql: string,
  mark: string | undefined,
  run: RunSql,
): Promise<BatchedChange | BatchRefusal | undefined> {
  const plan = await decideChange(sql, run);
  if (plan?.isBatchable !== true) return plan;
  const progress = readProgress(mark);
  const moment = progress.moment ?? (readsTime(sql) ? await readMoment(run) : undefined);
  const change = readRowChange(moment === undefined ? sql : freezeTime(sql, moment));
  if (change === undefined || change.verb === "compound") return undefined;
  return {
    isBatchable: true,
    table: getPath(change.table),
    relation: qualify(change.table.schema, change.table.name),
    start: progress.key,
    async next(after, size) {
      const batch = await findBatch(change, plan, after, size, run);
      return batch && { ...batch, mark: writeProgress({ key: batch.key, moment }) };
    },
    estimate: () => estimateRows(change, plan, progress.key, run),
    readKey: (text) => readProgress(text).key,
  };
}

async function readMoment(run: RunSql): Promise<string> {
  const [row] = await run("SELECT now()::text AS moment");
  return String(row.moment);
}

/** One batch of a change. */
interface Batch {
  /** The statement. */
  readonly sql: string;
  /** Key of its last row. */
  readonly key: BatchKey;
  /** Number of its rows; one that joins several others counts several times. */
  readonly rows: number;
}

/** Progress of a change in batches. */
interface BatchProgress {
  /** Key of the last visited row; omitted before the first batch. */
  readonly key?: readonly string[];
  /** Value of `now()` in all batches. */
  readonly moment?: string;
}

/** Parses the progress recorded by an earlier run. */
function readProgress(watermark: string | undefined): BatchProgress {
  if (watermark === undefined) return {};
  const value: readonly string[] | BatchProgress = JSON.parse(watermark);
  return Array.isArray(value) ? { key: value } : value as BatchProgress;
}

/** Formats the progress for the record of each batch. */
function writeProgress({ key, moment }: BatchProgress): string {
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
async function findBatch(
  change: RowChange,
  { key }: BatchPlan,
  after: readonly string[] | undefined,
  size: number,
  run: RunSql,
): Promise<Batch | undefined> {
  const columns = typeKey(change, key);
  const names = key.map((_, place) => `k${String(place).padStart(2, "0")}`);
  const keys = columns.map(({ sql }, place) => `${sql} AS ${names[place]}`).join(", ");
  const start = isAfter(columns, after);
  const page = `SELECT ${keys} ${selectFrom(change, start)} ORDER BY ${
    names.join(", ")
  } LIMIT ${size}`;
  const texts = names.map((name) => `${name}::text AS ${name}`).join(", ");
  const backwards = names.map((name) => `page.${name} DESC`).join(", ");
  const [last] = await run(
    `SELECT ${texts}, count(*) OVER ()::int AS page_rows FROM (${page}) AS page ` +
      `ORDER BY ${backwards} LIMIT 1`,
  );
  if (last === undefined) return undefined;
  const end = names.map((name) => String(last[name]));
  const sql = writeChange(change, `${start} AND ${compareKey(columns, "<=", end)}`);
  return { sql, key: end, rows: Number(last.page_rows) };
}

/** Estimates the rows after a key; `undefined` if the server does not explain as PostgreSQL does. */
async function estimateRows(
  change: RowChange,
  { key }: BatchPlan,
  after: BatchKey | undefined,
  run: RunSql,
): Promise<number | undefined> {
  const start = isAfter(typeKey(change, key), after);
  const [first] = await run(`EXPLAIN SELECT 1 ${selectFrom(change, start)}`);
  const rows = /\brows=(\d+)/.exec(Object.values(first ?? {}).join())?.[1];
  return rows === undefined ? undefined : Number(rows);
}

/** Returns the columns of a key with the table: a joined table may have columns of the same names. */
function typeKey(change: RowChange, key: BatchPlan["key"]): { sql: string; type: string }[] {
  return key.map(({ name, type }) => ({ sql: `${change.reference}.${quoteName(name)}`, type }));
}

function isAfter(columns: readonly { sql: string; type: string }[], after?: BatchKey): string {
  return after === undefined ? "true" : compareKey(columns, ">", after);
}

function selectFrom(change: RowChange, condition: string): string {
  const joined = getText(change, change.from);
  const from = joined === "" ? change.target : `${change.target}, ${joined}`;
  return `FROM ${from} WHERE ${narrow(change, condition)}`;
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

/** Keywords for the transaction's time, with the type of their value. */
const TIME_WORDS: Readonly<Record<string, string>> = {
  CURRENT_TIMESTAMP: "timestamp with time zone",
  CURRENT_DATE: "date",
  CURRENT_TIME: "time with time zone",
  LOCALTIMESTAMP: "timestamp without time zone",
  LOCALTIME: "time without time zone",
};

interface TimeCall {
  readonly from: number;
  readonly to: number;
  readonly type: string;
}

function findTimeCalls(reader: StatementReader): TimeCall[] {
  const calls: TimeCall[] = [];
  for (let at = 0; at < reader.size; at++) {
    if (reader.is(at - 1, ".")) continue;
    const key = reader.key(at);
    const word = Object.hasOwn(TIME_WORDS, key) ? TIME_WORDS[key] : undefined;
    if (word !== undefined) {
      const hasPrecision = reader.is(at + 1, "(") && reader.is(at + 3, ")");
      const type = hasPrecision ? word.replace(/^\w+/, `$&(${reader.text(at + 2, at + 3)})`) : word;
      calls.push({ from: at, to: hasPrecision ? at + 4 : at + 1, type });
      continue;
    }
    const end = reader.nameEnd(at);
    const isCall = end > at && reader.is(end, "(", ")") &&
      TIME_FUNCTIONS.has(getName(reader.token(end - 1)!));
    if (isCall) calls.push({ from: at, to: end + 2, type: "timestamp with time zone" });
  }
  return calls;
}

/** Checks whether a statement reads the time of its transaction. */
export function readsTime(sql: string): boolean {
  return findTimeCalls(parseStatement(sql)).length > 0;
}

/**
 * Replaces `now()` and similar calls by one moment, so that all batches of a statement use the same
 * time.
 *
 * @param sql The statement.
 * @param moment A timestamp with its offset, as PostgreSQL prints it.
 * @returns The statement with literals instead of the calls.
 */
export function freezeTime(sql: string, moment: string): string {
  const reader = parseStatement(sql);
  const edits = new TokenEdits(reader);
  for (const { from, to, type } of findTimeCalls(reader)) {
    edits.replace(from, to, `CAST(${quoteLiteral(moment)}::timestamptz AS ${type})`);
  }
  return edits.isEmpty ? sql : edits.apply();
}
