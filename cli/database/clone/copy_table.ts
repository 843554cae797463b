import { compareKey } from "../../../sql/key_range.ts";
import { qualify, quoteName } from "../../../sql/quote.ts";
import {
  type BatchLimits,
  PositionChangedError,
  runBatches,
} from "../../../distsql/batches/run_batches.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import type { CloneState, CopyState } from "./clone_state.ts";
import type { CloneConnection } from "./connection.ts";
import type { TableCopy } from "./plan_copy.ts";

/** A batch of rows, rendered as SQL for the target. */
interface Page {
  /** `(1,'a'),(2,'b')`; empty if there are no rows. */
  readonly tuples: string;
  readonly rows: number;
  /** The key of the last row. */
  readonly last: readonly string[] | null;
  /** True if the table ends with this batch. */
  readonly isLast: boolean;
}

/** Context of copying a table. */
export interface CopyContext {
  readonly source: CloneConnection;
  readonly target: CloneConnection;
  readonly state: CloneState;
  readonly limits: BatchLimits;
  /** Called with the number of copied rows. */
  readonly onProgress: (rows: number) => void;
}

function concurrentCloneError({ name }: TableCopy, { target }: CopyContext): ConfigurationError {
  return new ConfigurationError(
    `${name}: another clone is writing to ${target.label}: wait ` +
      `until it ends, or stop it and continue with --resume`,
  );
}

/**
 * Copies the rows of a table in key order, starting at the stored mark. Each batch is written in
 * one transaction with its mark, while the next batch is read.
 *
 * @param context Source, target and progress.
 * @returns The number of copied rows.
 * @throws {ConfigurationError} If another clone copies the same rows.
 */
export async function copyRows(copy: TableCopy, context: CopyContext): Promise<number> {
  const { state, limits, onProgress } = context;
  const start = await state.readCopy(copy);
  onProgress(start.rows);
  let ahead: Promise<Page> | undefined;

  async function run(at: CopyState, limits: BatchLimits): Promise<CopyState> {
    const page = await (ahead ?? readPage(copy, context, at.mark, limits));
    ahead = page.isLast ? undefined : readPage(copy, context, page.last, limits);
    // a rejection is handled when the batch is awaited
    ahead?.catch(() => {});
    const next: CopyState = {
      mark: page.last ?? at.mark,
      rows: at.rows + page.rows,
      isDone: page.isLast,
    };
    await writePage(copy, context, page, at, next);
    return next;
  }

  async function runOrDiscard(at: CopyState, limits: BatchLimits): Promise<CopyState> {
    try {
      return await run(at, limits);
    } catch (error) {
      await ahead?.catch(() => {});
      ahead = undefined;
      throw error;
    }
  }

  try {
    const end = await runBatches({
      limits,
      run: runOrDiscard,
      recover: () => state.readCopy(copy),
      onBatch: ({ rows }) => onProgress(rows),
    }, start);
    return end.rows;
  } catch (error) {
    if (error instanceof PositionChangedError) throw concurrentCloneError(copy, context);
    throw error;
  }
}

/**
 * Builds the statement that reads a batch: as many rows after a key as the limits allow, as one
 * value, so that no object per row is created on either side.
 *
 * @param after The key of the last row that was read.
 * @param limits The maximum size.
 */
function buildBatchQuery(
  copy: TableCopy,
  after: readonly string[] | null,
  limits: BatchLimits,
): string {
  const { columns, key } = copy;
  const tuple = columns.map(({ expression }) => `quote_nullable(${expression})`).join(
    " || ',' || ",
  );
  const keys = key.map((_, at) => `trellis_k${at}`).join(", ");
  const marks = key.map((_, at) =>
    `(array_agg(k${at} ORDER BY number DESC) FILTER (WHERE fits))[1] AS k${at}`
  );
  const where = after === null ? "" : ` WHERE ${compareKey(key, ">", after)}`;
  return `SELECT string_agg(tuple, ',' ORDER BY number) FILTER (WHERE fits) AS tuples, ` +
    `count(*) FILTER (WHERE fits)::text AS rows, count(*)::text AS seen, ${
      marks.join(", ")
    } FROM (` +
    `SELECT *, number = 1 OR sum(octet_length(tuple)) OVER ` +
    `(ORDER BY number) <= ${limits.bytes} AS fits FROM (` +
    `SELECT row_number() OVER (ORDER BY ${keys}) AS number, '(' || ${tuple} || ')' AS tuple, ` +
    `${key.map((_, at) => `trellis_k${at}::text AS k${at}`).join(", ")} FROM (` +
    `SELECT *, ${key.map(({ sql }, at) => `${sql} AS trellis_k${at}`).join(", ")} FROM ${
      qualify(copy.schema, copy.name)
    }${where} ORDER BY ${
      key.map(({ sql }) => sql).join(", ")
    } LIMIT ${limits.rows}) AS page) AS numbered) AS sized`;
}

async function readPage(
  copy: TableCopy,
  { source }: CopyContext,
  after: readonly string[] | null,
  limits: BatchLimits,
): Promise<Page> {
  const { rows: maxRows } = limits;
  const [row] = await source.run(buildBatchQuery(copy, after, limits));
  const rows = Number(row.rows);
  return {
    tuples: row.tuples === null ? "" : String(row.tuples),
    rows,
    last: rows === 0 ? null : copy.key.map((_, at) => String(row[`k${at}`])),
    isLast: Number(row.seen) < maxRows && Number(row.seen) === rows,
  };
}

async function writePage(
  copy: TableCopy,
  { state, target }: CopyContext,
  page: Page,
  from: CopyState,
  to: CopyState,
): Promise<void> {
  const names = copy.columns.map(({ name }) => quoteName(name)).join(", ");
  const insert = `INSERT INTO ${qualify(copy.schema, copy.name)} (${names})${
    copy.overriding ? " OVERRIDING SYSTEM VALUE" : ""
  } VALUES ${page.tuples}`;
  await target.transaction(async (run) => {
    if (!await state.move(run, copy, from, to)) throw new PositionChangedError(copy.name);
    if (page.rows > 0) await run(insert);
  });
}
