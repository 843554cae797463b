import { splitEvery } from "../core/lists/group_by.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { runSqlRows } from "../database/session/run_sql.ts";
import { type PlainSql, sql } from "../database/session/plain_sql.ts";
import { runOutsideInvocation } from "../observability/invocation_context.ts";
import { log } from "../observability/logger.ts";
import type { JobLease } from "./finish.ts";
import { JobCancelledError, JobLeaseLostError } from "./job_errors.ts";
import { MAX_IDS, sqlIds } from "./job_sql.ts";

/** Time between two looks at the jobs that run, and the shortest duration of a job that is looked at. */
const WATCH_MS = 5000;

interface WatchedJob {
  readonly lease: JobLease;
  readonly abort: AbortController;
  readonly startedMs: number;
  readonly onLook: (() => Promise<void>) | undefined;
}

interface StateRow extends Record<string, unknown> {
  id: string;
  state: string;
  fence: number | string;
}

/**
 * Builds the statement that looks at jobs that run.
 *
 * @param ids At most {@link MAX_IDS} ids.
 */
export function buildLook(ids: readonly string[]): PlainSql {
  return sql`select "id", "state", "fence" from "trellis_jobs" where "id" = any(${sqlIds(ids)})`;
}

/**
 * Aborts the signals of jobs that were cancelled, or that another worker has leased, while they run. Short jobs cost no timer:
 * one serves all jobs until {@link rest}.
 */
export class LeaseWatch {
  readonly #getDb: () => DrizzleClient | Promise<DrizzleClient>;
  readonly #watchMs: number;
  readonly #jobs: Set<WatchedJob> = new Set();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param getDb Returns the client.
   * @param watchMs Milliseconds between two looks.
   */
  constructor(getDb: () => DrizzleClient | Promise<DrizzleClient>, watchMs: number = WATCH_MS) {
    this.#getDb = getDb;
    this.#watchMs = watchMs;
  }

  /**
   * Runs the handler of a job.
   *
   * @param lease The lease.
   * @param abort Aborts the signal of the attempt.
   * @param handle Calls the handler.
   * @param onLook Called at each look at the job.
   */
  async run<T>(
    lease: JobLease,
    abort: AbortController,
    handle: () => Promise<T>,
    onLook?: () => Promise<void>,
  ): Promise<T> {
    const job = { lease, abort, startedMs: performance.now(), onLook };
    this.#jobs.add(job);
    this.#lookLater();
    try {
      return await handle();
    } finally {
      this.#jobs.delete(job);
    }
  }

  /** Stops to look, unless jobs run. */
  rest(): void {
    if (this.#dropAborted() > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Leaves out jobs whose handlers ignore their signals, and returns how many are left. */
  #dropAborted(): number {
    for (const job of this.#jobs) if (job.abort.signal.aborted) this.#jobs.delete(job);
    return this.#jobs.size;
  }

  #lookLater(): void {
    this.#timer ??= runOutsideInvocation(() => setTimeout(() => void this.#look(), this.#watchMs));
  }

  async #look(): Promise<void> {
    this.#timer = undefined;
    this.#dropAborted();
    const startedMs = performance.now() - this.#watchMs;
    const long = [...this.#jobs].filter((job) => job.startedMs <= startedMs);
    try {
      for (const part of splitEvery(long, MAX_IDS)) await this.#check(part);
      for (const { onLook } of long) await onLook?.();
    } catch (error) {
      log("WARN", "the jobs that run were not looked at, the worker tries again", { error });
    }
    if (this.#jobs.size > 0) this.#lookLater();
  }

  async #check(jobs: readonly WatchedJob[]): Promise<void> {
    const rows = await runSqlRows<StateRow>(
      await this.#getDb(),
      buildLook(jobs.map(({ lease }) => lease.id)),
    );
    const byId = new Map(rows.map((row) => [row.id, row]));
    for (const { lease: { id, fence }, abort } of jobs) {
      const row = byId.get(id);
      if (row?.state === "running" && Number(row.fence) === fence) continue;
      abort.abort(
        row?.state === "cancelled" ? new JobCancelledError(id) : new JobLeaseLostError(id),
      );
    }
  }
}
