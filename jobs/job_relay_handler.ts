import {
  ASYNC_KEYS,
  type AsyncTriggerOptions,
  checkTriggerOptions,
} from "../core/triggers/trigger_options.ts";
import { defineScheduleHandler, type ScheduleHandlerParams } from "../core/triggers/schedule.ts";
import type { ScheduleEvent } from "../core/triggers/trigger_events.ts";
import type { LambdaHandler } from "../core/with_observability.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { findTestClock, getJobsConfig } from "./job_settings.ts";
import { type RelayResult, runRelay } from "./relay.ts";
import type { JobSchedule } from "./schedule.ts";
import { createJobWorker, type JobWorkerOptions } from "./worker.ts";
import { record } from "../env/recording.ts";

/** The relay, as Lambda calls it. */
export type JobRelayHandler = LambdaHandler<ScheduleEvent, RelayResult> & {
  /** Distinguishes the relay from other functions: `trellis dev` calls it when jobs are due. */
  readonly isJobRelay: true;
};

/** Options of `defineJobRelayHandler`. */
export interface JobRelayHandlerOptions<TSchema extends Record<string, unknown>>
  extends AsyncTriggerOptions, Omit<JobWorkerOptions<TSchema>, "jobs" | "logging" | "metrics"> {
  /** Jobs that the relay runs itself if no delivery is configured. */
  jobs?: JobWorkerOptions<TSchema>["jobs"];
  /** Schedules to enqueue. */
  schedules?: readonly JobSchedule[];
}

/** Shortest time between two runs (Amazon EventBridge schedules, 2026-11). */
const RELAY_SECONDS = 60;
const WORKER_KEYS = ["getDb", "jobs", "schedules", "concurrency", "clock", "random"];

/**
 * Declares the relay: a function that runs on a schedule, such as each minute. It enqueues schedules,
 * hands jobs that were not delivered or whose worker died to the configured delivery, removes old
 * rows and adds the metrics `OldestJobAge` and `DeadJobs`. Without a delivery it runs the due jobs
 * itself. Several relays may run at the same time.
 *
 * @param options Client, jobs, schedules.
 * @returns The function to export for Lambda.
 * @throws {ConfigurationError} If an option is unknown or invalid.
 *
 * @example
 * ```ts
 * import { defineJob, defineJobRelayHandler, defineSchedule } from "@trellis/fn/jobs";
 * import { getDrizzleClient } from "@trellis/fn/database";
 * import * as z from "zod";
 *
 * export const report = defineJob({ name: "report", schema: z.null() })(() => {});
 *
 * export const handler = defineJobRelayHandler({
 *   getDb: () => getDrizzleClient({ provider: "embedded-pg" }),
 *   jobs: [report],
 *   schedules: [defineSchedule(report, { name: "hourly", everySeconds: 3600, payload: null })],
 * });
 * ```
 */
export function defineJobRelayHandler<
  TSchema extends Record<string, unknown> = Record<string, unknown>,
>(options: JobRelayHandlerOptions<TSchema>): JobRelayHandler {
  checkTriggerOptions("defineJobRelayHandler", options, [...ASYNC_KEYS, ...WORKER_KEYS]);
  const { getDb, jobs = [], schedules = [], concurrency, clock, random, ...trigger } = options;
  if (typeof getDb !== "function") {
    throw new ConfigurationError("getDb of defineJobRelayHandler must be a function");
  }
  for (const { scheduleName, everySeconds = Infinity } of schedules) {
    if (everySeconds >= RELAY_SECONDS) continue;
    throw new ConfigurationError(
      `The schedule ${scheduleName} has everySeconds: ${everySeconds}, and a relay runs once a minute: ` +
        `raise everySeconds to ${RELAY_SECONDS}, or give the schedule to worker.start() of a server`,
    );
  }
  const { logging, metrics } = trigger;
  const worker = jobs.length === 0
    ? undefined
    : createJobWorker({ getDb, jobs, concurrency, clock, random, logging, metrics });

  const operationName = trigger.operationName || "relayJobs";
  const wrapped = defineScheduleHandler({ ...trigger, operationName })(
    async function relayJobs(_params: ScheduleHandlerParams): Promise<RelayResult> {
      return await runRelay({
        getDb: getDb as () => DrizzleClient | Promise<DrizzleClient>,
        runDue: worker?.runDue,
        delivery: getJobsConfig().delivery,
        schedules,
        clock: findTestClock(clock),
        random: random ?? Math.random,
      });
    },
  );
  return record(
    "defineJobRelayHandler",
    [options],
    Object.assign(wrapped, { isJobRelay: true as const }),
  );
}
