import type { Clock } from "../core/async/clock.ts";
import type { DrizzleClient } from "../database/providers/provider.ts";
import { log } from "../observability/logger.ts";
import type { JobSchedule } from "./schedule.ts";

/**
 * Enqueues the last time of each schedule. The time is part of the job's key, so that several relays
 * add one job.
 *
 * @param db The client.
 * @param schedules The schedules.
 * @param clock Clock of a test.
 * @returns Number of schedules that failed. Their errors are logged.
 */
export async function enqueueSchedules(
  db: DrizzleClient,
  schedules: readonly JobSchedule[],
  clock: Clock | undefined,
): Promise<number> {
  const now = new Date(clock?.now() ?? Date.now());
  let failed = 0;
  for (const schedule of schedules) {
    try {
      await enqueueLast(db, schedule, now);
    } catch (error) {
      failed++;
      log("ERROR", "a schedule could not be enqueued", { schedule: schedule.scheduleName, error });
    }
  }
  return failed;
}

async function enqueueLast(db: DrizzleClient, schedule: JobSchedule, now: Date): Promise<void> {
  const { scheduleName, job, catchUpSeconds } = schedule;
  const last = await schedule.findLast(now);
  if (last === undefined || now.getTime() - last.getTime() > catchUpSeconds * 1000) return;
  const key = `schedule ${scheduleName} ${last.toISOString()}`;
  await job.enqueue(db, schedule.getPayload(last), { key });
}
