import type { JobClaimer, LeasedJob } from "./claim.ts";
import type { AttemptOutcome } from "./end_attempt.ts";
import type { JobRunner } from "./job_runner.ts";

/** Counts of what a worker did. */
export interface JobCounts {
  /** Jobs that succeeded. */
  done: number;
  /** Failed attempts that are followed by another one. */
  retried: number;
  /** Jobs that failed for the last time. */
  dead: number;
  /** Attempts whose lease ended before they did. */
  lost: number;
}

/** Leases at most `limit` jobs; none if there are no more. */
export type NextJobs = (limit: number) => Promise<LeasedJob[]>;

/** What lanes need. */
export interface LaneOptions {
  /** Leases the next jobs. */
  readonly next: NextJobs;
  /** Runs jobs. */
  readonly runner: JobRunner;
  /** Leases the jobs of groups. */
  readonly claimer: JobClaimer;
  /** Number of lanes. */
  readonly concurrency: number;
  /** Checks whether another job may begin. */
  readonly canStart: () => boolean;
}

/** Time that a leased job may wait for a lane, less than the margin of its lease. */
const MAX_WAIT_MS = 5000;

/** Runs jobs in lanes, one after the other in each, until there are no more. */
export class JobLanes {
  readonly #options: LaneOptions;
  readonly #counts: JobCounts = { done: 0, retried: 0, dead: 0, lost: 0 };
  readonly #buffer: LeasedJob[] = [];
  #filling: Promise<boolean> | undefined;
  #isEmpty = false;
  #idle = 0;
  readonly #recording: Set<Promise<void>> = new Set();
  #failure: { error: unknown } | undefined;

  /**
   * @param options Where jobs come from, and what runs them.
   */
  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Runs all lanes, and gives back what was leased and did not begin. */
  async run(): Promise<JobCounts> {
    const { concurrency, runner } = this.#options;
    this.#idle = concurrency;
    const lanes = Array.from({ length: concurrency }, () => this.#runLane());
    const results = await Promise.allSettled(lanes);
    runner.flush();
    await Promise.all(this.#recording);
    // jobs that were leased ahead and have no lane any more
    await this.#filling?.catch((error) => void (this.#failure ??= { error }));
    await runner.release(this.#buffer.splice(0));
    if (this.#failure !== undefined) throw this.#failure.error;
    for (const result of results) if (result.status === "rejected") throw result.reason;
    return this.#counts;
  }

  async #runLane(): Promise<void> {
    const { runner, claimer } = this.#options;
    for (let leased = await this.#take(); leased !== undefined; leased = await this.#take()) {
      this.#idle--;
      try {
        const recording = this.#count((await runner.run(leased)).outcome);
        if (leased.group === null) continue;
        // the next job of the group can be leased once this one is done
        await recording;
        this.#buffer.push(...await claimer.claimGroup(leased.group));
      } finally {
        this.#idle++;
      }
    }
  }

  /** Counts an outcome when it is recorded. Never rejects. */
  #count(outcome: Promise<AttemptOutcome>): Promise<void> {
    const recording = outcome.then(
      (name) => void this.#counts[name]++,
      (error) => void (this.#failure ??= { error }),
    ).finally(() => this.#recording.delete(recording));
    this.#recording.add(recording);
    return recording;
  }

  /** Returns the next job for a lane. Gives back a job that has waited too long. */
  async #take(): Promise<LeasedJob | undefined> {
    const { canStart, runner } = this.#options;
    while (canStart() && this.#failure === undefined) {
      const leased = this.#buffer.shift();
      if (leased !== undefined) {
        if (performance.now() - leased.leasedAtMs >= MAX_WAIT_MS) {
          await runner.release([leased]);
          continue;
        }
        this.#fillAhead();
        return leased;
      }
      // nothing else to do until more jobs are leased
      runner.flush();
      if (this.#isEmpty) return undefined;
      if (this.#filling !== undefined) await this.#filling;
      else this.#isEmpty = !await this.#startFilling();
    }
    return undefined;
  }

  /** Leases the next jobs while the rest of the buffer runs, so that no lane waits for them. */
  #fillAhead(): void {
    const { concurrency, runner } = this.#options;
    const ahead = runner.getBatchSize(0, concurrency);
    // leasing many jobs takes as long as running some: a lane would wait if only the last ones were left
    const isLow = this.#buffer.length < Math.max(concurrency, ahead / 2);
    // a single job at a time: a worker of long jobs leases none in advance
    const isShort = ahead > concurrency;
    if (!isLow || !isShort || this.#isEmpty || this.#filling !== undefined) return;
    this.#startFilling().catch((error) => void (this.#failure ??= { error }));
  }

  /** Returns false if there are no jobs. A running job may be due again, so that does not last. */
  #startFilling(): Promise<boolean> {
    return this.#filling ??= this.#fill().finally(() => this.#filling = undefined);
  }

  async #fill(): Promise<boolean> {
    const { next, runner, concurrency } = this.#options;
    const found = await next(runner.getBatchSize(this.#idle, concurrency));
    this.#buffer.push(...found);
    return found.length > 0;
  }
}
