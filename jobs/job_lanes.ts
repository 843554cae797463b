import { runOutsideInvocation } from "../observability/invocation_context.ts";
import type { JobCall } from "./claim.ts";
import type { AttemptOutcome } from "./end_attempt.ts";
import type { JobClaimer, NextJobs } from "./job_claimer.ts";
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
  readonly runner: Pick<
    JobRunner,
    "run" | "release" | "flush" | "rest" | "getBatchSize" | "hasLimit" | "mayWait"
  >;
  /** Leases jobs ahead, and those of groups and batches. */
  readonly claimer: Pick<JobClaimer, "claimDue" | "claimGroup" | "fillBatch" | "hasLimits">;
  /** Number of lanes. */
  readonly concurrency: number;
  /** Checks whether another job may begin. */
  readonly canStart: () => boolean;
  /** True if `next` finds a job again that was given back. */
  readonly mayLeaseAhead: boolean;
  /** Called when a place of a limit is free again. */
  readonly onPlaceFree: () => void;
}

/** Longest time of an attempt, for each of its jobs and in all, after which the next ones are leased two at a time. */
const FAST_MS = 50;
const FAST_BATCH_MS = 500;
/** Looks that lease no job ahead, after a look has leased jobs that must not wait. */
const FILLS_WITHOUT_AHEAD = 10;
/** Shortest time after which a job that was leased ahead and has not begun is given back. */
const AHEAD_MS = 100;

/**
 * Runs jobs in lanes, one after the other in each, until there are no more. A lane leases a job when it
 * can begin it: a job that waits behind a slow one is free for other workers, and one that ends its
 * process costs no other job an attempt.
 *
 * While jobs are fast, one more, or one more batch, is leased ahead for each lane, so that few statements lease many, and no
 * lane waits for a statement. That is a job of which no attempt has begun, so that the end of a process costs it one attempt at most; it
 * is given back if it cannot begin soon.
 */
export class JobLanes {
  readonly #options: LaneOptions;
  readonly #counts: JobCounts = { done: 0, retried: 0, dead: 0, lost: 0 };
  /** Jobs for the lanes that wait for them. */
  readonly #buffer: JobCall[] = [];
  #filling: Promise<void> | undefined;
  #isEmpty = false;
  /** True if the last look found as many jobs as it may lease. */
  #hasMore = false;
  #fillsWithoutAhead = 0;
  /** True if a job has ended since jobs were last looked for: it may have enqueued another one, or freed a place of a limit. */
  #hasEnded = false;
  #isFast = false;
  /** Time after which a job that was leased ahead is given back: that of two attempts. */
  #aheadMs = AHEAD_MS;
  #givingBack: ReturnType<typeof setTimeout> | undefined;
  /** Time at which jobs that were leased ahead are given back, on the clock of `performance.now()`. */
  #giveBackMs = Infinity;
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
    await this.#filling;
    runner.flush();
    // leased while the worker began to stop, or ahead
    this.#giveBack();
    await Promise.all(this.#recording);
    runner.rest();
    if (this.#failure !== undefined) throw this.#failure.error;
    for (const result of results) if (result.status === "rejected") throw result.reason;
    return this.#counts;
  }

  async #runLane(): Promise<void> {
    const { runner, claimer } = this.#options;
    for (let call = await this.#take(); call !== undefined; call = await this.#take()) {
      this.#fillAhead();
      const [leased] = call.jobs;
      const jobs = await claimer.fillBatch(call, runner.getBatchSize(leased));
      const startedMs = performance.now();
      const outcomes = await runner.run(jobs);
      const recording = this.#count(outcomes);
      const ms = performance.now() - startedMs;
      this.#isFast = ms < Math.min(FAST_MS * outcomes.length, FAST_BATCH_MS);
      this.#aheadMs = this.#isFast ? Math.max(AHEAD_MS, 2 * ms) : AHEAD_MS;
      const { group } = leased;
      const isFree = group === null && !runner.hasLimit(leased);
      // the next job of the group, or of the limit, can be leased once this one is done
      if (!isFree) await recording;
      this.#isEmpty = false;
      this.#hasEnded = true;
      if (!isFree && claimer.hasLimits) this.#options.onPlaceFree();
      if (group !== null && this.#canStart()) {
        // the next look finds it, too, and reports what fails then
        const next = await claimer.claimGroup(group).catch(() => []);
        this.#buffer.push(...next.map((job) => ({ jobs: [job], isWhole: true })));
      }
    }
  }

  #canStart(): boolean {
    return this.#failure === undefined && this.#options.canStart();
  }

  /** Counts outcomes when they are recorded. Never rejects. */
  #count(outcomes: readonly Promise<AttemptOutcome>[]): Promise<void> {
    return this.#track(
      Promise.all(outcomes).then((names) => {
        for (const name of names) this.#counts[name]++;
      }),
    );
  }

  /** Returns the next job, or batch, for a lane. */
  async #take(): Promise<JobCall | undefined> {
    this.#idle++;
    try {
      while (this.#canStart()) {
        // a job that blocks the process also delays the timer
        if (performance.now() > this.#giveBackMs) this.#giveBack();
        const call = this.#buffer.shift();
        if (call !== undefined || this.#isEmpty) return call;
        await (this.#filling ?? this.#startFill(this.#fill()));
      }
      return undefined;
    } finally {
      this.#idle--;
    }
  }

  #startFill(fill: Promise<void>): Promise<void> {
    return this.#filling = fill.finally(() => this.#filling = undefined);
  }

  /** Leases a job, or a batch, for each lane that waits, with one statement; also one ahead for each lane if jobs are fast. */
  async #fill(): Promise<void> {
    this.#hasEnded = false;
    const isAhead = this.#isFast && this.#options.mayLeaseAhead && --this.#fillsWithoutAhead < 0;
    const found = await this.#lease(this.#options.next, isAhead);
    this.#isEmpty = found === 0 && !this.#hasEnded;
  }

  /**
   * Leases the next jobs while the lanes run the last ones, if that is more than one. That there are none is left to the look
   * of a lane that waits: a job that runs may enqueue another one.
   */
  #fillAhead(): void {
    const { claimer, concurrency, mayLeaseAhead } = this.#options;
    const left = this.#buffer.length;
    const isAhead = this.#hasMore && this.#isFast && mayLeaseAhead && this.#fillsWithoutAhead <= 0;
    const isLow = left <= concurrency / 4 && concurrency - left > 1;
    if (!isAhead || !isLow || this.#filling !== undefined || !this.#canStart()) return;
    const leasing = this.#lease((getLimit) => claimer.claimDue(getLimit), true);
    // a lane that waits looks again, and reports what fails then
    void this.#startFill(leasing.then(() => {}, () => void (this.#hasMore = false)));
  }

  /** Leases jobs for the lanes that wait and, with `isAhead`, for the buffer. Returns how many. */
  async #lease(next: NextJobs, isAhead: boolean): Promise<number> {
    const { runner, concurrency } = this.#options;
    let most = 1;
    const found = await next((isLimited) => {
      const ahead = isAhead && !isLimited ? concurrency - this.#buffer.length : 0;
      most = Math.max(most, this.#idle + ahead);
      return this.#idle + ahead;
    });
    this.#hasMore = found.length >= most;
    const atOnce = found.filter(({ jobs }) => !runner.mayWait(jobs[0]));
    const waiting = found.filter(({ jobs }) => runner.mayWait(jobs[0]));
    const tooMany = atOnce.splice(this.#idle);
    if (tooMany.length > 0) this.#fillsWithoutAhead = FILLS_WITHOUT_AHEAD;
    this.#release(tooMany);
    this.#buffer.push(...atOnce, ...waiting);
    if (this.#buffer.length > this.#idle) this.#giveBackLater();
    return found.length;
  }

  #giveBackLater(): void {
    clearTimeout(this.#givingBack);
    this.#giveBackMs = performance.now() + this.#aheadMs;
    this.#givingBack = runOutsideInvocation(() =>
      setTimeout(() => this.#giveBack(), this.#aheadMs)
    );
  }

  /** Makes the jobs that have not begun free for other workers: the lanes run slow ones. */
  #giveBack(): void {
    clearTimeout(this.#givingBack);
    this.#giveBackMs = Infinity;
    this.#isFast = false;
    this.#release(this.#buffer.splice(0));
  }

  #release(calls: readonly JobCall[]): void {
    const leased = calls.flatMap(({ jobs }) => jobs);
    if (leased.length > 0) this.#track(this.#options.runner.release(leased));
  }

  /** Makes `run` wait for work, and reject if it has failed. Never rejects. */
  #track(work: Promise<void>): Promise<void> {
    const tracked = work.catch((error) => void (this.#failure ??= { error }))
      .finally(() => this.#recording.delete(tracked));
    this.#recording.add(tracked);
    return tracked;
  }
}
