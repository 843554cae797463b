import { findInCauseChain } from "../../errors/cause_chain.ts";
import { getSqlState } from "../../errors/driver_error.ts";
import type { DrizzleClient } from "../providers/provider.ts";
import { inRange, keyColumns, type KeyMark, keyTexts, readMark, withoutKey } from "./key_range.ts";
import type { RecreationPlan } from "./recreation_plan.ts";
import { RecreationError } from "./recreation_error.ts";
import { quoteName } from "./sql_text.ts";
import { readWork, relationOid, runSql, writeWork } from "./work_table.ts";

/** How large a batch may get. */
export interface BatchLimits {
  /** Rows. */
  rows: number;
  /** Bytes of the rows as text; half of the provider's 10 MiB is left for the entries of keys. */
  bytes: number;
}

/** How far the copy got; written before each batch, so that a later run can tell whether the batch went through. */
interface CopyState {
  /** The new table that it is about. */
  target: string;
  /** The key up to which rows are copied; `null` when none are. */
  mark: KeyMark | null;
  /** The end of the batch that is under way. */
  bound: KeyMark | null;
  /** Rows of the batch that is under way; 0 when none is. */
  batch: number;
  /** Rows in the new table before that batch, as far as nobody writes meanwhile. */
  rows: number;
  /** Whether all rows are there. */
  isDone: boolean;
}

const SOURCE_ALIAS = "page";

/** Copies the rows of a table in batches along its key, one statement each. */
export class RowCopy {
  readonly #db: DrizzleClient;
  readonly #plan: RecreationPlan;
  readonly #limits: BatchLimits;
  readonly #logger: (message: string) => void;

  /**
   * @param db A client.
   * @param plan What is copied.
   * @param limits How large a batch may get at first; it gets smaller when the server says so.
   * @param logger Told of the progress.
   */
  constructor(
    db: DrizzleClient,
    plan: RecreationPlan,
    limits: BatchLimits,
    logger: (message: string) => void,
  ) {
    this.#db = db;
    this.#plan = plan;
    this.#limits = { ...limits };
    this.#logger = logger;
  }

  /** Whether what is in the new table is known, so that copying may go on. */
  async canGoOn(): Promise<boolean> {
    const { schema, table, copy } = this.#plan;
    const target = await relationOid(this.#db, copy.target);
    if (target === undefined) return true;
    const state = await readWork<CopyState>(this.#db, schema, table, "copy");
    return state?.target === target || await this.#count() === 0;
  }

  /** Copies what is not copied yet; may be called again after anything. */
  async run(): Promise<void> {
    const { key } = this.#plan.copy;
    let state = await this.#readState();
    if (state.mark === null && state.batch === 0 && !state.isDone) await this.#assertKeys();
    for (let batches = 1; !state.isDone; batches++) {
      if (state.batch === 0) {
        state = key.length === 0
          ? { ...state, batch: Math.max(1, this.#plan.rows) }
          : await this.#nextBatch(state);
        await this.#write(state);
      }
      if (state.isDone) break;
      state = await this.#runBatch(state);
      if (batches % 100 === 0) {
        this.#logger(`${this.#plan.table}: ${state.rows} of about ${this.#plan.rows} rows copied`);
      }
    }
  }

  async #readState(): Promise<CopyState> {
    const { schema, table, copy } = this.#plan;
    const target = await relationOid(this.#db, copy.target);
    const known = await readWork<CopyState>(this.#db, schema, table, "copy");
    if (known === undefined || known.target !== target) {
      return { target: target ?? "", mark: null, bound: null, batch: 0, rows: 0, isDone: false };
    }
    // nobody but this copy writes the new table, and a batch is there as a whole or not at all; where rows came or went
    // since the batch was looked for, this may be wrong, and the comparison of all rows tells
    const isApplied = known.batch > 0 && await this.#count() !== known.rows;
    return isApplied ? this.#afterBatch(known) : known;
  }

  #afterBatch(state: CopyState): CopyState {
    const isDone = this.#plan.copy.key.length === 0;
    return {
      ...state,
      mark: state.bound,
      bound: null,
      batch: 0,
      rows: state.rows + state.batch,
      isDone,
    };
  }

  async #runBatch(state: CopyState): Promise<CopyState> {
    const { copy, table } = this.#plan;
    const names = copy.columns.map(({ name }) => quoteName(name)).join(", ");
    const values = copy.columns.map(({ expression }) => expression).join(", ");
    const where = copy.key.length === 0 ? "true" : inRange(copy.key, state.mark, state.bound);
    const into = copy.columns.length === 0
      ? ""
      : ` (${names})${copy.overriding ? " OVERRIDING SYSTEM VALUE" : ""}`;
    try {
      await runSql(
        this.#db,
        `INSERT INTO ${copy.target}${into} SELECT ${values} FROM ${copy.source} AS ${
          quoteName(table)
        } WHERE ${where}`,
      );
      return this.#afterBatch(state);
    } catch (error) {
      if (findInCauseChain(error, (link) => getSqlState(link) === "54000") === undefined) {
        throw error;
      }
      return await this.#shrink(state, error);
    }
  }

  /** The server's limit on a transaction was met: smaller batches from here on. */
  async #shrink(state: CopyState, error: unknown): Promise<CopyState> {
    const { copy } = this.#plan;
    if (copy.key.length === 0) {
      throw new RecreationError(
        "the table has no key to go along, and its rows are too many for one transaction: give it a unique index over NOT NULL columns first",
        { reason: "failed", cause: error },
      );
    }
    if (state.batch === 1) throw error;
    this.#limits.rows = Math.max(1, Math.floor(state.batch / 4));
    const next = await this.#nextBatch(state);
    await this.#write(next);
    return next;
  }

  /** The rows after the last batch, as many as fit one; done when there are none. */
  async #nextBatch(state: CopyState): Promise<CopyState> {
    const { copy, current } = this.#plan;
    const { key } = copy;
    const size = current.columns.map(({ name }) =>
      `coalesce(octet_length(${quoteName(name)}::text), 0)`
    ).join(" + ");
    const [row] = await runSql(
      this.#db,
      `SELECT ${keyTexts(key)}, trellis_number::text AS rows FROM (SELECT ${
        keyColumns(key)
      }, row_number() OVER along AS trellis_number, ` +
        `sum(trellis_size) OVER along AS trellis_bytes FROM (SELECT ${
          keyColumns(key)
        }, ${size} AS trellis_size ` +
        `FROM ${copy.source} WHERE ${inRange(key, state.mark, null)} ORDER BY ${
          keyColumns(key)
        } LIMIT ${this.#limits.rows}) AS ${SOURCE_ALIAS} ` +
        `WINDOW along AS (ORDER BY ${keyColumns(key)})) AS sized ` +
        `WHERE trellis_number = 1 OR trellis_bytes <= ${this.#limits.bytes} ORDER BY trellis_number DESC LIMIT 1`,
    );
    if (row === undefined) return { ...state, bound: null, batch: 0, isDone: true };
    return { ...state, bound: readMark(key, row), batch: Number(row.rows) };
  }

  async #assertKeys(): Promise<void> {
    const { copy } = this.#plan;
    const nulls = withoutKey(copy.key);
    if (nulls === undefined) return;
    const [row] = await runSql(
      this.#db,
      `SELECT count(*)::text AS rows FROM ${copy.source} WHERE ${nulls}`,
    );
    if (row.rows === "0") return;
    throw new RecreationError(
      `${row.rows} rows have no value in ${
        keyColumns(copy.key)
      }, which is to be a key: fill them first`,
      { reason: "failed" },
    );
  }

  async #count(): Promise<number> {
    const [row] = await runSql(
      this.#db,
      `SELECT count(*)::text AS rows FROM ${this.#plan.copy.target}`,
    );
    return Number(row.rows);
  }

  #write(state: CopyState): Promise<void> {
    return writeWork(this.#db, this.#plan, "copy", state);
  }
}
