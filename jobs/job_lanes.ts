import type { JobClaimer, LeasedJob, NextJobs } from "./claim.ts";
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

/**
 * Runs jobs in lanes, one after the other in each, until there are no more. A lane leases a job when it
 * can begin it: a job that waits behind a slow one is free for other workers, and one that ends its
 * process costs no other job an attempt.
 */
export class JobLanes {
  readonly #options: LaneOptions;
  readonly #counts: JobCounts = { done: 0, retried: 0, dead: 0, lost: 0 };
  /** Jobs for the lanes that wait for them. */
  readonly #buffer: LeasedJob[] = [];
  #filling: Promise<void> | undefined;
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
    const lanes = Array.from({ length: concurrency }, () => this.#runLane());
    const results = await Promise.allSettled(lanes);
    runner.flush();
    await Promise.all(this.#recording);
    // leased while the worker began to stop
    await runner.release(this.#buffer.splice(0));
    if (this.#failure !== undefined) throw this.#failure.error;
    for (const result of results) if (result.status === "rejected") throw result.reason;
    return this.#counts;
  }

  async #runLane(): Promise<void> {
    const { runner, claimer } = this.#options;
    for (let leased = await this.#take(); leased !== undefined; leased = await this.#take()) {
      const recording = this.#count((await runner.run(leased)).outcome);
      if (leased.group === null) continue;
      // the next job of the group can be leased once this one is done
      await recording;
      if (this.#canStart()) this.#buffer.push(...await claimer.claimGroup(leased.group));
    }
  }

  #canStart(): boolean {
    return this.#failure === undefined && this.#options.canStart();
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

  /** Returns the next job for a lane. */
  async #take(): Promise<LeasedJob | undefined> {
    this.#idle++;
    try {
      while (this.#canStart()) {
        const leased = this.#buffer.shift();
        if (leased !== undefined || this.#isEmpty) return leased;
        await (this.#filling ??= this.#fill().finally(() => this.#filling = undefined));
      }
      return undefined;
    } finally {
      this.#idle--;
    }
  }

  /** Leases a job for each lane that waits, with one statement. */
  async #fill(): Promise<void> {
    const found = await this.#options.next(() => this.#idle);
    this.#buffer.push(...found);
    this.#isEmpty = found.length === 0;
  }
}
