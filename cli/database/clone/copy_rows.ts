import { ConfigurationError } from "../../../errors/http_errors.ts";
import { qualify, quoteName, quoteText } from "../sql_text.ts";
import type { BatchLimits } from "./batch_limits.ts";
import type { CloneState, CopyState } from "./clone_state.ts";
import { type CloneConnection, getState, isConnectionLost } from "./connection.ts";
import type { TableCopy } from "./plan_clone.ts";

/** The rows between two keys, written out as the target reads them. */
interface Page {
  /** `(1,'a'),(2,'b')`; empty for no rows. */
  readonly tuples: string;
  readonly rows: number;
  /** The key of its last row. */
  readonly last: readonly string[] | null;
  /** Whether the table ends with it. */
  readonly isLast: boolean;
}

/** What copying a table needs. */
export interface CopyContext {
  readonly source: CloneConnection;
  readonly target: CloneConnection;
  readonly state: CloneState;
  readonly limits: BatchLimits;
  /** Told how many rows of the table are in the target. */
  readonly onProgress: (rows: number) => void;
}

/** program_limit_exceeded: the provider's limits of a transaction, and its space for sorting. */
const OVER_LIMIT = "54000";
const MAX_LOST_CONNECTIONS = 8;
const MAX_MOVED = 2;

/** The rows of a batch are in the target already: nothing of it was written again. */
class MovedMark extends Error {}

function anotherClone({ name }: TableCopy, { target }: CopyContext): ConfigurationError {
  return new ConfigurationError(
    `${name}: another clone writes into ${target.label}: let that one end, or stop it and go on with --resume`,
  );
}

/**
 * Copies the rows of a table along its key, from where it stopped. Each batch and its mark are one transaction of the
 * target; the next batch is read meanwhile.
 *
 * @param copy The table.
 * @param context Where from and where to.
 * @returns How many rows of it are in the target.
 * @throws {ConfigurationError} When somebody else copies the same rows.
 */
export async function copyRows(copy: TableCopy, context: CopyContext): Promise<number> {
  const { state, onProgress } = context;
  const limits = { ...context.limits };
  const item = await state.item(copy);
  let at = await state.readCopy(item);
  onProgress(at.rows);
  let ahead: Promise<Page> | undefined;
  for (let lost = 0, moved = 0; !at.isDone;) {
    try {
      const page = await (ahead ?? readPage(copy, context, at.mark, limits));
      ahead = page.isLast ? undefined : readPage(copy, context, page.last, limits);
      // looked at when its turn comes
      ahead?.catch(() => {});
      const next: CopyState = {
        mark: page.last ?? at.mark,
        rows: at.rows + page.rows,
        isDone: page.isLast,
      };
      await writePage(copy, context, item, page, at, next);
      at = next;
      lost = moved = 0;
      onProgress(at.rows);
    } catch (error) {
      await ahead?.catch(() => {});
      ahead = undefined;
      if (error instanceof MovedMark) {
        // a COMMIT of this clone that had no answer may go through late; another clone goes on and on
        if (++moved > MAX_MOVED) throw anotherClone(copy, context);
      } else if (getState(error) === OVER_LIMIT && limits.rows > 1) shrink(limits);
      else if (!isConnectionLost(error) || ++lost > MAX_LOST_CONNECTIONS) throw error;
      // what is in the target is where the mark is
      at = await state.readCopy(item);
    }
  }
  return at.rows;
}

function shrink(limits: { rows: number; bytes: number }): void {
  limits.rows = Math.max(1, Math.floor(limits.rows / 4));
  limits.bytes = Math.max(64 * 1024, Math.floor(limits.bytes / 2));
}

/**
 * The statement that reads a page: rows after a key, as many as fit, in one value, so that neither side makes an object of
 * each row.
 *
 * @param copy The table.
 * @param after The key of the last row that was read.
 * @param limits How much fits.
 */
export function pageQuery(
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
  const where = after === null
    ? ""
    : ` WHERE (${key.map(({ sql }) => sql).join(", ")}) > (${
      after.map((text, at) => `${quoteText(text)}::${key[at].type}`).join(", ")
    })`;
  return `SELECT string_agg(tuple, ',' ORDER BY number) FILTER (WHERE fits) AS tuples, ` +
    `count(*) FILTER (WHERE fits)::text AS rows, count(*)::text AS seen, ${
      marks.join(", ")
    } FROM (` +
    `SELECT *, number = 1 OR sum(octet_length(tuple)) OVER (ORDER BY number) <= ${limits.bytes} AS fits FROM (` +
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
  const { rows: asked } = limits;
  const [row] = await source.run(pageQuery(copy, after, limits));
  const rows = Number(row.rows);
  return {
    tuples: row.tuples === null ? "" : String(row.tuples),
    rows,
    last: rows === 0 ? null : copy.key.map((_, at) => String(row[`k${at}`])),
    isLast: Number(row.seen) < asked && Number(row.seen) === rows,
  };
}

async function writePage(
  copy: TableCopy,
  { state, target }: CopyContext,
  item: string,
  page: Page,
  from: CopyState,
  to: CopyState,
): Promise<void> {
  const names = copy.columns.map(({ name }) => quoteName(name)).join(", ");
  const insert = `INSERT INTO ${qualify(copy.schema, copy.name)} (${names})${
    copy.overriding ? " OVERRIDING SYSTEM VALUE" : ""
  } VALUES ${page.tuples}`;
  await target.transaction(async (run) => {
    if (!await state.move(run, item, from, to)) throw new MovedMark(copy.name);
    if (page.rows > 0) await run(insert);
  });
}
