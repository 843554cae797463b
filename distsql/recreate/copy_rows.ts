import type { RunSql } from "../../sql/session.ts";
import { type BatchLimits, runBatches } from "../batches/run_batches.ts";
import { isOverLimit } from "../batches/run_batches.ts";
import { inRange, keyColumns, type KeyMark, keyTexts, readMark, withoutKey } from "./key_range.ts";
import type { RecreationPlan } from "./recreation_plan.ts";
import { RecreationError } from "./recreation_error.ts";
import { readWork, relationOid, writeWork } from "./work_table.ts";
import { quoteName } from "../../sql/quote.ts";

/**
 * Progress of a copy. Written before each batch, so that a later run can check whether the batch
 * was applied.
 */
interface CopyState {
  /** The new table. */
  target: string;
  /** Key of the last copied row; `null` before the first. */
  mark: KeyMark | null;
  /** Key of the last row of the running batch. */
  bound: KeyMark | null;
  /** Number of rows of the running batch; 0 if none is running. */
  batch: number;
  /** Number of rows in the new table before that batch, if nothing else writes to it. */
  rows: number;
  /** True if all rows are copied. */
  isDone: boolean;
}

const SOURCE_ALIAS = "page";

/** Copy of a table's rows in batches, in the order of its key, with one statement per batch. */
export class RowCopy {
  readonly #run: RunSql;
  readonly #plan: RecreationPlan;
  readonly #limits: BatchLimits;
  readonly #logger: (message: string) => void;
  #batchRows = 0;

  /**
   * @param run Runs a statement.
   * @param plan The plan.
   * @param limits Initial limits of a batch; half of the provider's 10 MiB is reserved for index
   * entries.
   * @param logger Called with the progress.
   */
  constructor(
    run: RunSql,
    plan: RecreationPlan,
    limits: BatchLimits,
    logger: (message: string) => void,
  ) {
    this.#run = run;
    this.#plan = plan;
    this.#limits = limits;
    this.#logger = logger;
  }

  /** Checks whether the content of the new table is known, so that copying can continue. */
  async canGoOn(): Promise<boolean> {
    const { schema, table, copy } = this.#plan;
    const target = await relationOid(this.#run, copy.target);
    if (target === undefined) return true;
    const state = await readWork<CopyState>(this.#run, schema, table, "copy");
    return state?.target === target || await this.#count() === 0;
  }

  /** Copies the remaining rows. Can be called again after any failure. */
  async run(): Promise<void> {
    const { table, rows } = this.#plan;
    const start = await this.#readState();
    if (start.mark === null && !start.isDone) await this.#assertKeys();
    await runBatches({
      limits: this.#limits,
      run: (state, limits) => this.#copyBatch(state, limits),
      recover: () => this.#readState(),
      getBatchRows: () => this.#batchRows,
      onBatch: (state, batches) => {
        if (batches % 100 > 0) return;
        this.#logger(`${table}: ${state.rows} of about ${rows} rows copied`);
      },
    }, start);
  }

  async #readState(): Promise<CopyState> {
    const { schema, table, copy } = this.#plan;
    const target = await relationOid(this.#run, copy.target);
    const known = await readWork<CopyState>(this.#run, schema, table, "copy");
    if (known === undefined || known.target !== target) {
      return { target: target ?? "", mark: null, bound: null, batch: 0, rows: 0, isDone: false };
    }
    // Only this copy writes to the new table, and batches are atomic. If rows were added or deleted
    // in the meantime, the result may be wrong; the final comparison of all rows detects that.
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

  async #copyBatch(state: CopyState, limits: BatchLimits): Promise<CopyState> {
    const { key } = this.#plan.copy;
    if (key.length === 0) return await this.#copyAll(state);
    // a batch that an earlier run recorded, unless the server rejected it as too large
    const isRecorded = state.batch > 0 && state.batch <= limits.rows;
    const batch = isRecorded ? state : await this.#nextBatch(state, limits);
    if (!isRecorded) await this.#write(batch);
    if (batch.isDone) return batch;
    this.#batchRows = batch.batch;
    await this.#insert(inRange(key, batch.mark, batch.bound));
    return this.#afterBatch(batch);
  }

  /** Copies a table without a key in one transaction. */
  async #copyAll(state: CopyState): Promise<CopyState> {
    const isRecorded = state.batch > 0;
    const all = isRecorded ? state : { ...state, batch: Math.max(1, this.#plan.rows) };
    if (!isRecorded) await this.#write(all);
    try {
      await this.#insert("true");
    } catch (error) {
      if (!isOverLimit(error)) throw error;
      throw new RecreationError(
        "the table has no key to order batches by, and its rows do not fit into one " +
          "transaction: add a unique index over NOT NULL columns first",
        { reason: "failed", cause: error },
      );
    }
    return this.#afterBatch(all);
  }

  async #insert(condition: string): Promise<void> {
    const { copy, table } = this.#plan;
    const names = copy.columns.map(({ name }) => quoteName(name)).join(", ");
    const values = copy.columns.map(({ expression }) => expression).join(", ");
    const into = copy.columns.length === 0
      ? ""
      : ` (${names})${copy.overriding ? " OVERRIDING SYSTEM VALUE" : ""}`;
    await this.#run(
      `INSERT INTO ${copy.target}${into} SELECT ${values} ` +
        `FROM ${copy.source} AS ${quoteName(table)} WHERE ${condition}`,
    );
  }

  /** Determines the next batch after the last one; marks the copy as done if no row is left. */
  async #nextBatch(state: CopyState, limits: BatchLimits): Promise<CopyState> {
    const { copy, current } = this.#plan;
    const { key } = copy;
    const size = current.columns.map(({ name }) =>
      `coalesce(octet_length(${quoteName(name)}::text), 0)`
    ).join(" + ");
    const [row] = await this.#run(
      `SELECT ${keyTexts(key)}, trellis_number::text AS rows FROM (SELECT ${
        keyColumns(key)
      }, row_number() OVER along AS trellis_number, ` +
        `sum(trellis_size) OVER along AS trellis_bytes FROM (SELECT ${
          keyColumns(key)
        }, ${size} AS trellis_size ` +
        `FROM ${copy.source} WHERE ${inRange(key, state.mark, null)} ORDER BY ${
          keyColumns(key)
        } LIMIT ${limits.rows}) AS ${SOURCE_ALIAS} ` +
        `WINDOW along AS (ORDER BY ${keyColumns(key)})) AS sized ` +
        `WHERE trellis_number = 1 OR trellis_bytes <= ` +
        `${limits.bytes} ORDER BY trellis_number DESC LIMIT 1`,
    );
    if (row === undefined) return { ...state, bound: null, batch: 0, isDone: true };
    return { ...state, bound: readMark(key, row), batch: Number(row.rows) };
  }

  async #assertKeys(): Promise<void> {
    const { copy } = this.#plan;
    const nulls = withoutKey(copy.key);
    if (nulls === undefined) return;
    const [row] = await this.#run(
      `SELECT count(*)::text AS rows FROM ${copy.source} WHERE ${nulls}`,
    );
    if (row.rows === "0") return;
    throw new RecreationError(
      `${row.rows} rows have NULL in ${keyColumns(copy.key)}, which becomes ` +
        "a key: set values first",
      { reason: "failed" },
    );
  }

  async #count(): Promise<number> {
    const [row] = await this.#run(`SELECT count(*)::text AS rows FROM ${this.#plan.copy.target}`);
    return Number(row.rows);
  }

  #write(state: CopyState): Promise<void> {
    return writeWork(this.#run, this.#plan, "copy", state);
  }
}
