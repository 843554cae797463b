import type { DistSqlBatch } from "../distsql/translation.ts";
import { StatementReader } from "../distsql/statement_reader.ts";
import { readName } from "../distsql/sql_name.ts";
import { tokenize } from "../distsql/tokenize.ts";
import { findInCauseChain, sqlStateOf } from "../../errors/mod.ts";
import type { SqlSession } from "../providers/provider.ts";
import type { MigrationContext } from "./context.ts";
import { literal, quoteName } from "./history.ts";
import { MigrationError } from "./migration_error.ts";
import { isConnectionLost, retryIdempotent } from "./retry_idempotent.ts";
import type { MigrationStep } from "./steps.ts";

/** A third of the provider's 3,000 rows: what foreign keys cascade to counts too. */
const ROWS_PER_BATCH = 1000;

/** Connections that may be lost over all batches. */
const MAX_LOSSES = 12;

/** How a batch is written down. */
export interface BatchNotes {
  /** Runs work in a transaction, again after a conflict. */
  run: (work: (tx: SqlSession) => Promise<void>) => Promise<void>;
  /** What is noted by now. */
  read: () => Promise<{ state: string; watermark: string | undefined } | undefined>;
  /** The statement that notes how far the batches got. */
  note: (state: "running" | "done", watermark: string | undefined) => string;
}

/** Whether a statement can be cut into batches by its table's primary key. */
export function canBatch(step: MigrationStep): boolean {
  return (step.batch ?? readBatch(step.sql)) !== undefined;
}

/**
 * Runs an UPDATE or DELETE over a table in transactions of at most 1,000 rows, along the primary key. How far it got is
 * noted in each batch's own transaction, so that no row is changed twice, whatever dies in between.
 *
 * @param step The statement.
 * @param watermark The key up to which an earlier run got.
 * @param context What the run shares.
 * @param notes Runs and notes.
 * @throws {MigrationError} When the table has no primary key to go along.
 */
export async function runInBatches(
  step: MigrationStep,
  watermark: string | undefined,
  context: MigrationContext,
  notes: BatchNotes,
): Promise<void> {
  const batch = step.batch ?? readBatch(step.sql);
  if (batch === undefined) throw new MigrationError("The statement cannot be cut into batches: write it in parts");
  const key = await readKey(context, batch.table);
  assertKeyStays(batch, key);
  const condition = batch.where === undefined ? "" : ` AND (${batch.where})`;
  let mark: string[] | undefined = watermark === undefined ? undefined : JSON.parse(watermark);
  let size = ROWS_PER_BATCH;
  let losses = 0;
  for (let count = 1;; count++) {
    await context.lock.check();
    const after = mark === undefined ? "true" : `${key.row} > ${key.value(mark)}`;
    const page = `SELECT ${key.texts} FROM (SELECT ${key.columns} FROM ${batch.table} WHERE ${after}${condition} ` +
      `ORDER BY ${key.columns} LIMIT ${size}) AS page ORDER BY ${key.descending} LIMIT 1`;
    const [last] = await retryIdempotent(() => context.session.query(page), context.clock);
    const next = last === undefined ? undefined : Object.keys(last).sort().map((name) => String(last[name]));
    const range = next === undefined ? undefined : `${after} AND ${key.row} <= ${key.value(next)}${condition}`;
    try {
      await notes.run(async (tx) => {
        if (range !== undefined) {
          await tx.query(
            batch.verb === "delete"
              ? `DELETE FROM ${batch.table} WHERE ${range}`
              : `UPDATE ${batch.table} SET ${batch.set} WHERE ${range}`,
          );
        }
        await tx.query(
          next === undefined ? notes.note("done", undefined) : notes.note("running", JSON.stringify(next)),
        );
      });
    } catch (error) {
      if (isConnectionLost(error) && ++losses < MAX_LOSSES) {
        // the batch happened together with its note, or not at all
        const row = await notes.read();
        if (row?.state === "done") return;
        if (next !== undefined && row?.watermark === JSON.stringify(next)) mark = next;
        continue;
      }
      const isTooMuch = findInCauseChain(error, (link) => sqlStateOf(link) === "54000") !== undefined;
      if (!isTooMuch || size === 1) throw error;
      size = Math.max(1, Math.floor(size / 4));
      continue;
    }
    if (next === undefined) return;
    mark = next;
    if (count % 50 === 0) context.logger(`${batch.table}: ${count} batches`);
  }
}

interface KeyColumns {
  /** Each column, quoted. */
  names: string[];
  /** `"a", "b"` */
  columns: string;
  /** `"a" DESC, "b" DESC` */
  descending: string;
  /** The columns as texts, under names that sort in their order. */
  texts: string;
  /** `("a", "b")` */
  row: string;
  /** A key as a row of literals of the columns' types. */
  value: (key: readonly string[]) => string;
}

async function readKey(context: MigrationContext, table: string): Promise<KeyColumns> {
  const sql = "SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, k.place::int AS place " +
    "FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey::smallint[]) WITH ORDINALITY AS k (attnum, place) " +
    "JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum " +
    "WHERE i.indrelid = to_regclass($1) AND i.indisprimary AND k.place <= i.indnkeyatts ORDER BY k.place";
  const rows = await retryIdempotent(() => context.session.query(sql, [bareName(table)]), context.clock);
  if (rows.length === 0) {
    throw new MigrationError(
      `${table} has no primary key to cut the change into batches by: write the change in parts of under 3,000 rows`,
    );
  }
  const names = rows.map(({ name }) => quoteName(String(name)));
  const types = rows.map(({ type }) => String(type));
  return {
    names,
    columns: names.join(", "),
    descending: names.map((name) => `${name} DESC`).join(", "),
    texts: names.map((name, at) => `${name}::text AS k${String(at).padStart(2, "0")}`).join(", "),
    row: `(${names.join(", ")})`,
    value: (key) => `(${key.map((text, at) => `${literal(text)}::${types[at]}`).join(", ")})`,
  };
}

/** A row whose key moves ahead of the batches would be met again. */
function assertKeyStays(batch: DistSqlBatch, key: KeyColumns): void {
  const reader = new StatementReader(tokenize(batch.set ?? ""));
  for (const [from] of reader.list(0, reader.size)) {
    const name = quoteName(readName(reader, from).name);
    if (reader.is(from, "(") || key.names.includes(name)) {
      throw new MigrationError(
        `An update of the primary key of ${batch.table} cannot be cut into batches: write it in parts of under 3,000 rows`,
      );
    }
  }
}

/** The table of a batch may carry ONLY and an alias. */
function bareName(table: string): string {
  const reader = new StatementReader(tokenize(table));
  return readName(reader, reader.skip(0, "ONLY")).text;
}

const CLAUSES: ReadonlySet<string> = new Set(["SET", "FROM", "USING", "WHERE", "RETURNING"]);

/** Reads an UPDATE or DELETE of one table; anything with joins or results is left whole. */
function readBatch(sql: string): DistSqlBatch | undefined {
  const reader = new StatementReader(tokenize(sql));
  const isUpdate = reader.is(0, "UPDATE");
  if (!isUpdate && !reader.is(0, "DELETE", "FROM")) return undefined;
  const start = isUpdate ? 1 : 2;
  let at = reader.find(CLAUSES, start);
  const table = reader.text(start, at < 0 ? reader.size : at);
  let set: string | undefined;
  if (isUpdate) {
    if (at < 0 || !reader.is(at, "SET")) return undefined;
    const end = reader.find(CLAUSES, at + 1);
    set = reader.text(at + 1, end < 0 ? reader.size : end);
    at = end;
  }
  if (at < 0) return { verb: isUpdate ? "update" : "delete", table, set };
  if (!reader.is(at, "WHERE") || reader.find(CLAUSES, at + 1) >= 0 || reader.is(at + 1, "CURRENT", "OF")) {
    return undefined;
  }
  return { verb: isUpdate ? "update" : "delete", table, set, where: reader.text(at + 1, reader.size) };
}
