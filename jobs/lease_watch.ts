import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { runSqlRows } from "../database/session/run_sql.ts";
import { type PlainSql, sql } from "../database/session/plain_sql.ts";
import { runOutsideInvocation } from "../observability/invocation_context.ts";
import { log } from "../observability/logger.ts";
import type { JobLease } from "./finish.ts";
import { JobCancelledError, JobLeaseLostError } from "./job_errors.ts";
import { listIds, MAX_IDS } from "./job_sql.ts";

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
  return sql`select "id", "state", "fence" from "trellis_jobs" where "id" in (${listIds(ids)})`;
}

/** Aborts the signals of jobs that were cancelled, or that another worker has leased, while they run. */
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
   * Runs the handler of a job with a signal that is also aborted when its lease is lost.
   *
   * @param lease The lease.
   * @param signal Signal of the attempt.
   * @param handle Calls the handler.
   * @param onLook Called at each look at the job.
   */
  async run<T>(
    lease: JobLease,
    signal: AbortSignal,
    handle: (signal: AbortSignal) => Promise<T>,
    onLook?: () => Promise<void>,
  ): Promise<T> {
    const job = { lease, abort: new AbortController(), startedMs: performance.now(), onLook };
    this.#jobs.add(job);
    this.#lookLater();
    const forget = () => this.#forget(job);
    // a handler that ignores its signal is not looked at any more
    signal.addEventListener("abort", forget, { once: true });
    try {
      return await handle(AbortSignal.any([signal, job.abort.signal]));
    } finally {
      signal.removeEventListener("abort", forget);
      forget();
    }
  }

  #forget(job: WatchedJob): void {
    this.#jobs.delete(job);
    if (this.#jobs.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #lookLater(): void {
    this.#timer ??= runOutsideInvocation(() => setTimeout(() => void this.#look(), this.#watchMs));
  }

  async #look(): Promise<void> {
    this.#timer = undefined;
    const startedMs = performance.now() - this.#watchMs;
    const long = [...this.#jobs].filter((job) => job.startedMs <= startedMs);
    try {
      for (let at = 0; at < long.length; at += MAX_IDS) {
        await this.#check(long.slice(at, at + MAX_IDS));
      }
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
