import { splitEvery } from "../core/lists/group_by.ts";
import { withDistSqlRetry } from "../database/session/retry.ts";
import { runSql } from "../database/session/run_sql.ts";
import { log } from "../observability/logger.ts";
import type { LeasedJob } from "./claim.ts";
import type { AnyJob } from "./define_job.ts";
import { type AttemptOutcome, recordFailure } from "./end_attempt.ts";
import { buildRelease, JobFinisher } from "./finish.ts";
import { PermanentJobError } from "./job_errors.ts";
import { isKeyedId } from "./job_row.ts";
import { MAX_LEASED } from "./job_sql.ts";
import { JobMetrics } from "./job_metrics.ts";
import { LeaseWatch } from "./lease_watch.ts";
import { type AttemptRunner, createAttemptRunner, type RunnerOptions } from "./run_attempt.ts";

/** Runs leased jobs and records how they ended. */
export class JobRunner {
  readonly #jobs: ReadonlyMap<string, AnyJob>;
  readonly #options: RunnerOptions;
  readonly #attempts: Map<string, AttemptRunner> = new Map();
  readonly #finisher: JobFinisher;
  readonly #metrics = new JobMetrics();
  readonly #watch: LeaseWatch;

  /**
   * @param jobs The jobs by name.
   * @param options Client and logging.
   */
  constructor(jobs: ReadonlyMap<string, AnyJob>, options: RunnerOptions) {
    this.#jobs = jobs;
    this.#options = options;
    this.#finisher = new JobFinisher(options.getDb, options.clock);
    this.#watch = new LeaseWatch(options.getDb);
    for (const [name, job] of jobs) {
      this.#attempts.set(name, createAttemptRunner(job, { ...options, watch: this.#watch }));
    }
  }

  /**
   * Runs one attempt of a job, or of a batch. Never throws: a failure is an outcome.
   *
   * @param batch The job, or the jobs of a batch.
   * @returns For each job, once the handler has ended, a promise that resolves when the outcome is recorded and rejects if
   * it could not be. Outcomes of several attempts are recorded together.
   */
  async run(batch: readonly LeasedJob[]): Promise<readonly Promise<AttemptOutcome>[]> {
    const [leased] = batch;
    const job = this.#jobs.get(leased.name)!;
    let failure: { error: unknown } | undefined;
    let result: string | undefined;
    const startedMs = performance.now();
    try {
      if (leased.attempts > job.settings.maxAttempts) {
        throw new PermanentJobError("The worker of the last attempt ended before the attempt did");
      }
      result = await this.#attempts.get(leased.name)!(batch);
    } catch (error) {
      failure = { error };
    }
    const durationMs = Math.round((performance.now() - startedMs) * 1000) / 1000;
    const isBatch = batch.length > 1;
    const outcomes = batch.map((each) =>
      this.#record(job, each, { failure, result, durationMs, isBatch })
    );
    // the caller may look at them later
    for (const outcome of outcomes) outcome.catch(() => {});
    return outcomes;
  }

  /** Returns how many jobs one call of the handler gets with this one. */
  getBatchSize({ name }: LeasedJob): number {
    return this.#jobs.get(name)!.settings.batchSize;
  }

  /** Checks whether the job has a limit, whose place is free when its end is recorded. */
  hasLimit({ name }: LeasedJob): boolean {
    return this.#jobs.get(name)!.settings.limit !== undefined;
  }

  async #record(
    job: AnyJob,
    leased: LeasedJob,
    { failure, result, durationMs, isBatch }: {
      failure?: { error: unknown };
      result?: string;
      durationMs: number;
      isBatch: boolean;
    },
  ): Promise<AttemptOutcome> {
    const outcome = failure === undefined
      ? await this.#finish(job, leased, result)
      : await recordFailure(job, leased, failure.error, { ...this.#options, isBatch });
    if (outcome !== "done") logFailure(job, leased, outcome);
    if (this.#options.metrics) this.#metrics.add({ leased, outcome, durationMs });
    return outcome;
  }

  /** A transaction has marked its job itself. */
  async #finish(
    { settings }: AnyJob,
    leased: LeasedJob,
    result: string | undefined,
  ): Promise<AttemptOutcome> {
    if (settings.transaction) return "done";
    const { keepSeconds } = settings;
    const finished = this.#finisher.finish({ ...leased, keepSeconds, result });
    // the next job of its group, or of its limit, waits for it
    if (leased.group !== null || settings.limit !== undefined) this.#finisher.flush();
    return await finished ? "done" : "lost";
  }

  /**
   * Checks whether a job may be leased a moment before it begins. If the process ends meanwhile, it loses an
   * attempt: once, and never its only one.
   *
   * @param leased The job.
   */
  mayWait({ name, isFirst }: LeasedJob): boolean {
    return isFirst && this.#jobs.get(name)!.settings.maxAttempts > 1;
  }

  /** Records at once what has ended. */
  flush(): void {
    this.#finisher.flush();
  }

  /** Writes the metrics of all attempts that were recorded, and keeps no timer if no job runs. */
  rest(): void {
    this.#metrics.flush();
    this.#watch.rest();
  }

  /**
   * Gives back jobs that have not begun.
   *
   * @param leased The jobs.
   */
  async release(leased: readonly LeasedJob[]): Promise<void> {
    const db = await this.#options.getDb();
    for (const fence of new Set(leased.map((job) => job.fence))) {
      const all = leased.filter((job) => job.fence === fence).map(({ id }) => id);
      for (const ids of splitEvery(all, MAX_LEASED)) {
        const statement = buildRelease({ ids, fence }, this.#options.clock);
        await withDistSqlRetry(async () => await runSql(db, statement), { idempotent: true });
      }
    }
  }
}

const MESSAGES: Readonly<Record<AttemptOutcome, string>> = {
  done: "job done",
  retried: "job failed, it will be tried again",
  dead: "job failed for the last time: see trellis jobs show",
  lost:
    "job was cancelled, or leased to another worker, before it ended: if it does not use tx and was not " +
    "cancelled, it may run twice",
};

function logFailure(
  { settings }: AnyJob,
  { id, name, attempts }: LeasedJob,
  outcome: AttemptOutcome,
): void {
  const holdsKey = outcome === "dead" && settings.unique === undefined && isKeyedId(id);
  log(outcome === "dead" ? "ERROR" : "WARN", MESSAGES[outcome], {
    job: name,
    job_id: id,
    attempts,
    ...(holdsKey && {
      advice:
        "its key adds no other job until it is sent again: see the option unique of defineJob",
    }),
  });
}
