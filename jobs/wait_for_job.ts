import type { Clock } from "../core/async/clock.ts";
import { systemClock } from "../core/async/clock.ts";
import { sql } from "../database/session/plain_sql.ts";
import { runSqlRows } from "../database/session/run_sql.ts";
import { parseInput } from "../core/triggers/parse_input.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import type { JobClient } from "./enqueue.ts";
import type { JobState } from "./job_admin.ts";
import { JobNotDoneError } from "./job_errors.ts";
import type { JobSettings } from "./job_options.ts";

/** Options of `waitFor`. */
export interface WaitForJobOptions {
  /**
   * Longest time in seconds, up to 900.
   * @default 30
   */
  timeoutSeconds?: number;
  /**
   * Clock that waits.
   * @default systemClock
   */
  clock?: Clock;
}

const MAX_SECONDS = 900;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 1000;

/**
 * Waits until a job has ended, and returns its result.
 *
 * @param client The client.
 * @param id The job's id.
 * @param settings The job's options.
 * @param options How long.
 */
export async function waitForJob(
  client: JobClient,
  id: string,
  { result: schema }: JobSettings,
  { timeoutSeconds = 30, clock = systemClock }: WaitForJobOptions = {},
): Promise<unknown> {
  if (!(timeoutSeconds >= 0 && timeoutSeconds <= MAX_SECONDS)) {
    throw new ConfigurationError(
      `timeoutSeconds of waitFor is ${timeoutSeconds}: it must be 0 to ${MAX_SECONDS} seconds`,
    );
  }
  const endMs = clock.now() + timeoutSeconds * 1000;
  for (let pauseMs = FIRST_PAUSE_MS;; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    const [row] = await runSqlRows<
      { state: JobState; result: string | null; last_error: string | null }
    >(
      client,
      sql`select "state", "result", "last_error" from "trellis_jobs" where "id" = ${id}::uuid`,
    );
    if (row?.state === "done") {
      if (schema === undefined || row.result === null) return undefined;
      return await parseInput(schema, JSON.parse(row.result));
    }
    const leftMs = endMs - clock.now();
    const mayEnd = row?.state === "queued" || row?.state === "running";
    if (!mayEnd || leftMs <= 0) {
      throw new JobNotDoneError(id, row?.state, row?.last_error ?? undefined);
    }
    await clock.sleep(Math.min(pauseMs, leftMs));
  }
}
