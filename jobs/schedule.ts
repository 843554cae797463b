import { wholeNumber } from "../core/function_options.ts";
import { explainMissing, RUNTIME_PACKAGES } from "../env/optional_package.ts";
import {
  ANY_OPTION,
  checkOption,
  checkOptions,
  NAME_OPTION,
  type OptionRule,
  type OptionRules,
} from "../core/option_rules.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import type { AnyJob, Job } from "./define_job.ts";

/** Options of `defineSchedule`. */
export interface ScheduleOptions<TInput> {
  /** Name of the schedule: each of its times enqueues one job, regardless of the number of relays. */
  name: string;
  /**
   * Five fields of cron: minute, hour, day of the month, month, day of the week. Needs the package
   * `croner`. Give either `cron` or `everySeconds`.
   */
  cron?: string;
  /**
   * Time zone of `cron`.
   * @default "UTC"
   */
  timeZone?: string;
  /** Seconds between two times, counted from 1970-01-01T00:00:00Z. */
  everySeconds?: number;
  /** The payload, or a function of the scheduled time. */
  payload: TInput | ((scheduledTime: Date) => TInput);
  /**
   * Seconds for which a time that was missed is made up for. Of several missed times only the last one is, and the one
   * before if it is less than two minutes ago. The job must be kept longer (`keepSeconds`).
   * @default 3600
   */
  catchUpSeconds?: number;
}

/** Declared schedule. */
export interface JobSchedule {
  /** Name of the schedule. */
  readonly scheduleName: string;
  /** Job that it enqueues. */
  readonly job: AnyJob;
  /** Seconds for which a missed time is made up for. */
  readonly catchUpSeconds: number;
  /** Seconds between two times, if it has no `cron`. */
  readonly everySeconds?: number;
  /** Returns the payload of a time. */
  getPayload(scheduledTime: Date): unknown;
  /**
   * Returns the last scheduled time up to `now`.
   *
   * @param now The current time.
   */
  findLast(now: Date): Promise<Date | undefined>;
}

const CRON: OptionRule = [
  (value) => typeof value === "string" && value.trim().split(/\s+/).length === 5,
  "five fields, such as 0 3 * * 1 for Mondays at 3",
];
const DAY_SECONDS = 86_400;
const RULES: OptionRules = {
  name: NAME_OPTION,
  cron: CRON,
  timeZone: [isTimeZone, "a time zone of the IANA database, such as Europe/Berlin"],
  everySeconds: wholeNumber([1, 366 * DAY_SECONDS, "seconds"]),
  payload: ANY_OPTION,
  catchUpSeconds: wholeNumber([60, 30 * DAY_SECONDS, "seconds"]),
};

/**
 * Declares when a job is enqueued again and again. The relay (`defineJobRelayHandler`) enqueues it,
 * or `worker.start({ schedules })` of a server.
 *
 * @param job The job.
 * @param options Name, time and payload.
 * @returns The schedule.
 * @throws {ConfigurationError} If an option is unknown or invalid.
 *
 * @example
 * ```ts
 * import { defineJob, defineSchedule } from "@trellis/fn/jobs";
 * import * as z from "zod";
 *
 * const report = defineJob({ name: "report", schema: z.object({ day: z.iso.date() }) })(() => {});
 * const daily = defineSchedule(report, {
 *   name: "daily-report",
 *   cron: "0 3 * * *",
 *   timeZone: "Europe/Berlin",
 *   payload: (time) => ({ day: time.toISOString().slice(0, 10) }),
 * });
 * console.log(await daily.findLast(new Date("2026-01-31T12:00:00Z"))); // 2026-01-31T02:00:00.000Z
 * ```
 */
export function defineSchedule<TInput>(
  // deno-lint-ignore no-explicit-any -- only the input matters
  job: Job<TInput, any, any>,
  options: ScheduleOptions<TInput>,
): JobSchedule {
  checkOptions("defineSchedule", options, RULES);
  const { name, cron, everySeconds, timeZone = "UTC", payload, catchUpSeconds = 3600 } = options;
  checkOption("name", name, NAME_OPTION);
  if ((cron === undefined) === (everySeconds === undefined)) {
    throw new ConfigurationError(`The schedule ${name} needs either cron or everySeconds`);
  }
  if (job.settings.keepSeconds <= catchUpSeconds) {
    throw new ConfigurationError(
      `The schedule ${name} makes up for ${catchUpSeconds} seconds, but the job ${job.jobName} is kept ` +
        `for ${job.settings.keepSeconds}: a time could run twice. Raise keepSeconds`,
    );
  }
  return {
    scheduleName: name,
    job,
    catchUpSeconds,
    everySeconds,
    getPayload(scheduledTime): unknown {
      return typeof payload === "function"
        ? (payload as (time: Date) => TInput)(scheduledTime)
        : payload;
    },
    findLast: (now) =>
      cron === undefined
        ? Promise.resolve(findLastInterval(everySeconds! * 1000, now))
        : findLastCron(cron, timeZone, now),
  };
}

function findLastInterval(everyMs: number, now: Date): Date {
  return new Date(Math.floor(now.getTime() / everyMs) * everyMs);
}

async function findLastCron(cron: string, timezone: string, now: Date): Promise<Date | undefined> {
  const { Cron } = await import("croner").catch(
    explainMissing(RUNTIME_PACKAGES, "croner", "A schedule with cron"),
  );
  // the time itself counts, and croner looks strictly before
  const [last] = new Cron(cron, { timezone }).previousRuns(1, new Date(now.getTime() + 1000));
  if (last === undefined) return undefined;
  if (last <= now) return last;
  const [before] = new Cron(cron, { timezone }).previousRuns(1, now);
  return before;
}

function isTimeZone(value: unknown): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: value as string });
    return typeof value === "string";
  } catch {
    return false;
  }
}
