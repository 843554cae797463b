import type { Clock } from "../core/async/clock.ts";
import { wholeNumber } from "../core/function_options.ts";
import type { LoggingConfig } from "../core/logging_config.ts";
import {
  ANY_OPTION,
  BOOLEAN_OPTION,
  checkOption,
  checkOptions,
  FUNCTION_OPTION,
  OBJECT_OPTION,
  type OptionRules,
} from "../core/option_rules.ts";
import { remainingMs } from "../core/request_context.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { runOutsideInvocation } from "../observability/invocation_context.ts";
import { log } from "../observability/logger.ts";
import { JobClaimer, type NextJobs } from "./job_claimer.ts";
import type { AnyJob } from "./define_job.ts";
import { type JobCounts, JobLanes } from "./job_lanes.ts";
import { JobRunner } from "./job_runner.ts";
import { findTestClock, getJobsConfig } from "./job_settings.ts";
import { JobListener } from "./notify.ts";
import { runRelay } from "./relay.ts";
import type { JobSchedule } from "./schedule.ts";

/** Options of `createJobWorker`. */
export interface JobWorkerOptions<TSchema extends Record<string, unknown>> {
  /** Returns the client of the database with the table of jobs. */
  getDb: () => DrizzleClient<TSchema> | Promise<DrizzleClient<TSchema>>;
  /** Jobs that this worker runs. It leaves all others in the table. */
  jobs: readonly AnyJob[];
  /**
   * Jobs that run at the same time, 1 to 1,000. Each job with `transaction: true` uses a connection,
   * so the client needs as many (`maxConnections`).
   * @default 1
   */
  concurrency?: number;
  /** How attempts log. */
  logging?: LoggingConfig;
  /**
   * Whether each attempt adds its metrics.
   * @default true
   */
  metrics?: boolean;
  /**
   * Clock of a test.
   * @default the clock of the database
   */
  clock?: Clock;
  /**
   * Source of randomness, from 0 to below 1.
   * @default Math.random
   */
  random?: () => number;
}

/** Options of `start`. */
export interface JobWorkerStartOptions {
  /**
   * Milliseconds between two looks at the table, 10 to 60,000.
   * @default 1000, and 5000 while the worker listens (`createNotifyDelivery`)
   */
  pollMs?: number;
  /**
   * Schedules to enqueue, also such that are due more often than once a minute.
   * @default none
   */
  schedules?: readonly JobSchedule[];
}

/** Worker of jobs. */
export interface JobWorker {
  /**
   * Runs the jobs that are due until none is left, or until the invocation's time is nearly up.
   *
   * @returns What was done.
   */
  runDue(): Promise<JobCounts>;
  /**
   * Runs jobs by their ids, and the jobs after them in their groups. Leaves out those that are not
   * due, that another worker has leased or that are done.
   *
   * @param ids The ids.
   * @returns What was done.
   */
  runIds(ids: readonly string[]): Promise<JobCounts>;
  /**
   * Runs jobs as they become due, until `stop` is called: for a process that keeps running. It also does
   * once a minute what a relay does: it enqueues schedules, removes old rows, and adds the metrics
   * `OldestJobAge` and `DeadJobs`.
   *
   * @param options Time between two looks at the table, and schedules.
   * @throws {ConfigurationError} If an option is invalid, or the worker has been started or stopped.
   */
  start(options?: JobWorkerStartOptions): void;
  /** Looks at the table at once, after `start`. */
  wake(): void;
  /**
   * Stops leasing jobs, gives back those that have not begun, and waits for those that run.
   */
  stop(): Promise<void>;
}

const RULES: OptionRules = {
  getDb: FUNCTION_OPTION,
  jobs: [Array.isArray, "an array of jobs"],
  concurrency: wholeNumber([1, 1000, "jobs"]),
  logging: OBJECT_OPTION,
  metrics: BOOLEAN_OPTION,
  clock: ANY_OPTION,
  random: FUNCTION_OPTION,
};

/** Time between two looks at the table. */
const POLL_MS = 1000;
/** Time between two looks at the table of a worker that is notified of jobs. */
const LISTENING_POLL_MS = 5000;
/** Longest time between two looks after schedules, old rows and metrics. */
const MAINTENANCE_SECONDS = 60;
/** Time before the invocation's deadline in which no job is started. */
export const MIN_START_MS = 500;

/**
 * Creates a worker. Several workers, in any number of processes, share the jobs of a table: each job
 * is leased to one worker.
 *
 * @param options Client, jobs, concurrency.
 * @returns The worker. It runs jobs when a function of it is called.
 * @throws {ConfigurationError} If an option is invalid or two jobs have one name.
 *
 * @example
 * ```ts
 * import { createJobWorker, defineJob, JOBS_MIGRATION_SQL } from "@trellis/fn/jobs";
 * import { sql } from "@trellis/fn/database/orm";
 * import { createTestDatabase } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * const { db, close } = await createTestDatabase();
 * for (const statement of JOBS_MIGRATION_SQL.split("--> statement-breakpoint")) {
 *   await db.execute(sql.raw(statement));
 * }
 * const greet = defineJob({ name: "greet", schema: z.string() })(({ payload }) => console.log(payload));
 * await greet.enqueue(db, "hello");
 *
 * const worker = createJobWorker({ getDb: () => db, jobs: [greet], logging: { level: "SILENT" }, metrics: false });
 * console.log(await worker.runDue()); // { done: 1, retried: 0, dead: 0, lost: 0 }
 * await close();
 * ```
 */
export function createJobWorker<TSchema extends Record<string, unknown> = Record<string, unknown>>(
  options: JobWorkerOptions<TSchema>,
): JobWorker {
  checkOptions("createJobWorker", options, RULES);
  const { concurrency = 1, logging, metrics = true, random = Math.random } = options;
  const jobs = indexJobs(options.jobs);
  const clock = findTestClock(options.clock);
  const getDb = options.getDb as () => DrizzleClient | Promise<DrizzleClient>;
  const runner = new JobRunner(jobs, { getDb, logging, metrics, clock, random });
  const running: Set<Promise<unknown>> = new Set();
  let isStarted = false;
  let isStopping = false;
  const poller = new JobPoller(() => isStopping);
  const maintenance = new JobPoller(() => isStopping);
  const claimer = new JobClaimer({
    getDb,
    jobs: [...jobs.values()],
    clock,
    random,
    onWait(ms): void {
      if (isStarted) poller.wakeIn(ms);
    },
  });

  const canStart = (): boolean => !isStopping && remainingMs() > MIN_START_MS;

  function createLanes(next: NextJobs, mayLeaseAhead = true): JobLanes {
    const onPlaceFree = () => poller.wake();
    return new JobLanes({
      next,
      runner,
      claimer,
      concurrency,
      canStart,
      mayLeaseAhead,
      onPlaceFree,
    });
  }
  function track<T>(work: Promise<T>): Promise<T> {
    const settled = work.catch(() => {}).finally(() => running.delete(settled));
    running.add(settled);
    return work;
  }

  /** A failure, such as a restart of the database, ends the lanes but not the worker. */
  async function runUntilStopped(pollMs: number | undefined): Promise<void> {
    const listener = getJobsConfig().delivery?.notifies
      ? new JobListener(getDb, (delaySeconds) => poller.wakeIn(1000 * delaySeconds))
      : undefined;
    const getPollMs = () => pollMs ?? (listener?.isListening ? LISTENING_POLL_MS : POLL_MS);
    const poll = poller.createPoll(getPollMs, async (getLimit) => {
      await listener?.open();
      return await claimer.claimDue(getLimit);
    });
    while (!isStopping) {
      try {
        await createLanes(poll).run();
      } catch (error) {
        log("ERROR", "running jobs failed, the worker tries again", { error });
        await poller.pause(getPollMs());
      }
    }
    await listener?.close();
  }

  async function maintainUntilStopped(schedules: readonly JobSchedule[]): Promise<void> {
    const everySeconds = schedules.map(({ everySeconds = MAINTENANCE_SECONDS }) => everySeconds);
    const pauseMs = 1000 * Math.min(MAINTENANCE_SECONDS, ...everySeconds);
    const nothingToRun = { runDue: undefined, delivery: undefined };
    while (!isStopping) {
      try {
        await runRelay({ ...nothingToRun, getDb, schedules, clock, random, hasMetrics: metrics });
      } catch (error) {
        log("ERROR", "looking after the table of jobs failed, the worker tries again", { error });
      }
      await maintenance.pause(pauseMs);
    }
  }

  return {
    runDue: () => track(createLanes((getLimit) => claimer.claimDue(getLimit)).run()),
    runIds: (ids) => track(createLanes(claimer.claimOnce(ids), false).run()),
    start({ pollMs, schedules = [] } = {}): void {
      if (pollMs !== undefined) {
        checkOption("pollMs", pollMs, wholeNumber([10, 60_000, "milliseconds"]));
      }
      if (isStarted || isStopping) {
        throw new ConfigurationError("A worker can be started once: create another one");
      }
      isStarted = true;
      void track(runUntilStopped(pollMs));
      void track(maintainUntilStopped(schedules));
    },
    wake: () => poller.wake(),
    async stop(): Promise<void> {
      isStopping = true;
      poller.wake();
      maintenance.wake();
      await Promise.all(running);
    },
  };
}

function indexJobs(jobs: readonly AnyJob[]): ReadonlyMap<string, AnyJob> {
  const byName = new Map<string, AnyJob>();
  for (const job of jobs) {
    if (job?.settings === undefined) {
      throw new ConfigurationError("jobs must hold results of defineJob(options)(handler)");
    }
    if (byName.has(job.jobName)) {
      throw new ConfigurationError(`Two jobs are named ${job.jobName}: names must be unique`);
    }
    byName.set(job.jobName, job);
  }
  if (byName.size === 0) throw new ConfigurationError("jobs is empty: a worker needs a job to run");
  return byName;
}

/** Step of the times at which a poller is woken: jobs that are due together need one timer. */
const WAKE_STEP_MS = 10;
/** Share by which the pauses of two workers differ. */
const SPREAD = 0.2;

/** Looks for jobs again and again. */
export class JobPoller {
  readonly #isStopping: () => boolean;
  #wake: (() => void) | undefined;
  #isWoken = false;
  readonly #alarms: Map<number, ReturnType<typeof setTimeout>> = new Map();

  /**
   * @param isStopping Returns true when the worker stops.
   */
  constructor(isStopping: () => boolean) {
    this.#isStopping = isStopping;
  }

  /** Ends the pause, or leaves out the next one. */
  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
    if (this.#isStopping()) { for (const timer of this.#alarms.values()) clearTimeout(timer); }
  }

  /**
   * Ends the pause in this time. What is later than the next look is left to that.
   *
   * @param ms Milliseconds.
   */
  wakeIn(ms: number): void {
    if (!(ms > 0)) return this.wake();
    const slot = Math.ceil((performance.now() + ms) / WAKE_STEP_MS);
    if (ms > LISTENING_POLL_MS || this.#isStopping() || this.#alarms.has(slot)) return;
    const timer = runOutsideInvocation(() =>
      setTimeout(() => {
        this.#alarms.delete(slot);
        this.wake();
      }, slot * WAKE_STEP_MS - performance.now())
    );
    this.#alarms.set(slot, timer);
  }

  /**
   * Creates a function that waits for jobs.
   *
   * @param getPollMs Returns the milliseconds between two looks.
   * @param next Leases jobs.
   * @returns Leases jobs; none only when the worker stops.
   */
  createPoll(getPollMs: () => number, next: NextJobs): NextJobs {
    return async (getLimit) => {
      while (!this.#isStopping()) {
        this.#isWoken = false;
        try {
          const found = await next(getLimit);
          if (found.length > 0) return found;
        } catch (error) {
          // the database may be restarting
          log("ERROR", "leasing jobs failed, the worker tries again", { error });
        }
        await this.pause(getPollMs());
      }
      return [];
    };
  }

  /**
   * Waits, unless the poller was woken or the worker stops.
   *
   * @param pollMs Milliseconds on average.
   */
  async pause(pollMs: number): Promise<void> {
    if (this.#isWoken || this.#isStopping()) return;
    const ms = pollMs * (1 - SPREAD + 2 * SPREAD * Math.random());
    await runOutsideInvocation(() =>
      new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      })
    );
    this.#wake = undefined;
  }
}
