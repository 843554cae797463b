import { monotonicNow } from "../../core/async/clock.ts";
import { describeDriverError, findSqlState } from "../../errors/driver_error.ts";
import { retryIdempotent } from "../../sql/retry_idempotent.ts";
import type { Row } from "../../sql/session.ts";
import type { MigrationContext } from "./context.ts";
import { describeLockHolders } from "./lock_wait.ts";
import { MigrationError } from "./migration_error.ts";

/**
 * A third of the provider's limit of 3,000 rows, because cascading changes of foreign keys count
 * too.
 */
const MAX_ROWS = 1000;
const MIN_ROWS = 10;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5000;
/** Interval of messages about waits for the same reason. */
const LOG_EVERY_MS = 30_000;

/** Sessions that wait for locks of a table or of its rows; a waiter for a row holds its tuple lock. */
const WAITING = "WITH locks AS MATERIALIZED (SELECT * FROM pg_locks) " +
  "SELECT count(DISTINCT w.pid)::int AS waiting FROM locks w WHERE NOT w.granted AND " +
  "clock_timestamp() - w.waitstart > $2::int * interval '1 millisecond' AND EXISTS " +
  "(SELECT FROM locks t WHERE t.pid = w.pid AND t.relation = to_regclass($1)::oid AND " +
  "t.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND " +
  "(NOT t.granted OR t.locktype = 'tuple'))";

/** Replicas and subscribers. The columns are NULL for a role that may not read them. */
const REPLICAS =
  "SELECT coalesce(nullif(application_name, ''), host(client_addr), pid::text) AS name, state, " +
  "pg_current_wal_lsn()::text AS position, replay_lsn < $1::pg_lsn AS is_behind, " +
  "CASE WHEN replay_lsn < pg_current_wal_lsn() THEN " +
  "(extract(epoch FROM replay_lag) * 1000)::bigint::text END AS lag_ms " +
  "FROM pg_stat_replication WHERE state IS DISTINCT FROM 'backup'";

/** What a pause is for: locked rows, others that wait for the table, or a replica. */
type Pause = "rows" | "table" | "lag";

/** Pace of a change in batches: the size of the next one, and when it may begin. */
export class BackfillPace {
  readonly #table: string;
  readonly #relation: string;
  readonly #context: MigrationContext;
  #rows = MAX_ROWS;
  #canReadLag: boolean;
  /** Position of the log that was written at a time; replicas that have not replayed it are behind since. */
  #marker: { readonly position: string; readonly atMs: number } | undefined;
  #waitingSinceMs: number | undefined;
  #logged: { readonly kind: Pause; readonly atMs: number } | undefined;
  #pauses = 0;

  /**
   * @param table Path of the table, for messages.
   * @param relation The table as SQL.
   * @param context Shared state of the run.
   */
  constructor(table: string, relation: string, context: MigrationContext) {
    this.#table = table;
    this.#relation = relation;
    this.#context = context;
    this.#canReadLag = !context.limitsRows;
  }

  /** Maximum number of rows of the next batch. */
  get rows(): number {
    return this.#rows;
  }

  /** Statement that limits how long a batch waits for locked rows while it holds others. */
  get lockTimeout(): string | undefined {
    const { lockLimits, backfill } = this.#context;
    if (lockLimits === undefined) return undefined;
    return `SET LOCAL lock_timeout TO ${Math.min(lockLimits.timeoutMs, backfill.batchMs)}`;
  }

  /**
   * Waits while a replica is behind, or while other sessions wait for locks of the table. Returns
   * early if the time of the run is over.
   *
   * @throws {MigrationError} If the wait takes longer than the limit: names what it waited for.
   */
  async wait(): Promise<void> {
    // the distributed engine has neither replicas nor locks
    if (this.#context.limitsRows) return;
    for (;;) {
      const waiting = await this.#findWaiting();
      const reason = waiting ?? await this.#findLag();
      if (reason === undefined) break;
      if (!await this.#pause(waiting === undefined ? "lag" : "table", reason)) break;
    }
  }

  /**
   * Waits after a batch that did not get the locks of its rows.
   *
   * @param cause The error of the batch.
   */
  async giveWay(cause: unknown): Promise<void> {
    this.#rows = Math.max(MIN_ROWS, Math.floor(this.#rows / 2));
    const lock = { relation: this.#relation, mode: "SHARE" } as const;
    await this.#pause("rows", await describeLockHolders([lock], this.#context), cause);
  }

  /**
   * Adapts the size of the next batch to the duration of the last one.
   *
   * @param rows Number of its rows.
   * @param durationMs Duration of its transaction.
   */
  adapt(rows: number, durationMs: number): void {
    this.#waitingSinceMs = undefined;
    this.#pauses = 0;
    const { batchMs } = this.#context.backfill;
    if (durationMs > batchMs) {
      const fitting = Math.floor(Math.min(rows, this.#rows) * batchMs / durationMs);
      this.#rows = Math.max(MIN_ROWS, fitting);
    } else if (durationMs < batchMs / 2) this.#rows = Math.min(MAX_ROWS, this.#rows * 2);
  }

  /** Pauses, and logs the reason from time to time; returns false if the time of the run is over. */
  async #pause(
    kind: Pause,
    reason: string,
    cause?: unknown,
  ): Promise<boolean> {
    const { clock, logger, lock, isOver, backfill: { maxWaitMs } } = this.#context;
    if (isOver()) return false;
    const nowMs = monotonicNow(clock);
    this.#waitingSinceMs ??= nowMs;
    if (nowMs - this.#waitingSinceMs >= maxWaitMs) {
      throw new MigrationError(
        `The change of ${this.#table} in batches has waited for ${
          Math.round(maxWaitMs / 1000)
        } s: ` +
          `${reason}. Run the migrations again when there is less load: they continue after the ` +
          "last batch",
        { cause },
      );
    }
    if (this.#logged?.kind !== kind || nowMs - this.#logged.atMs >= LOG_EVERY_MS) {
      this.#logged = { kind, atMs: nowMs };
      logger(`${this.#table}: waiting: ${reason}`);
    }
    await clock.sleep(Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#pauses++));
    await lock.check();
    return true;
  }

  async #query(sql: string, params: (string | number | null)[]): Promise<Row[]> {
    const { session, clock } = this.#context;
    return await retryIdempotent(() => session.query(sql, params), clock);
  }

  async #findWaiting(): Promise<string | undefined> {
    const { batchMs } = this.#context.backfill;
    const [row] = await this.#query(WAITING, [this.#relation, batchMs]);
    const waiting = Number(row.waiting);
    if (waiting === 0) return undefined;
    const sessions = waiting === 1 ? "1 session waits" : `${waiting} sessions wait`;
    return `${sessions} for locks of the table`;
  }

  /** Returns the replica that is furthest behind, if that is more than the limit. */
  async #findLag(): Promise<string | undefined> {
    if (!this.#canReadLag) return undefined;
    let replicas: Row[];
    try {
      replicas = await this.#query(REPLICAS, [this.#marker?.position ?? null]);
    } catch (error) {
      if (findSqlState(error) === undefined) throw error;
      return this.#ignoreLag(describeDriverError(error) ?? "the server refuses the query");
    }
    if (replicas.some(({ state }) => state === null)) {
      return this.#ignoreLag("the role may not read pg_stat_replication: grant it pg_monitor");
    }
    if (replicas.length === 0) return undefined;
    const nowMs = monotonicNow(this.#context.clock);
    const markerMs = this.#marker === undefined ? 0 : nowMs - this.#marker.atMs;
    // replay_lag stands still while a replica does not replay
    const lags = replicas.map(({ name, is_behind, lag_ms }) => ({
      name,
      ms: Math.max(is_behind === true ? markerMs : 0, Number(lag_ms ?? 0)),
    }));
    if (replicas.every(({ is_behind }) => is_behind !== true)) {
      this.#marker = { position: String(replicas[0].position), atMs: nowMs };
    }
    const worst = lags.reduce((a, b) => b.ms > a.ms ? b : a);
    const { maxLagMs } = this.#context.backfill;
    if (worst.ms <= maxLagMs) return undefined;
    return `the replica ${worst.name} is ${
      (worst.ms / 1000).toFixed(1)
    } s behind, and the limit is ` +
      `${maxLagMs / 1000} s`;
  }

  #ignoreLag(reason: string): undefined {
    this.#canReadLag = false;
    this.#context.logger(`${this.#table}: the lag of replicas is not watched: ${reason}`);
  }
}
