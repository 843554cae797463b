import { getDrizzleClient } from "../../database/providers/client.ts";
import type { DatabaseConfig } from "../../database/config/config.ts";
import { executeRows } from "../../database/session/execute.ts";
import { sql } from "../../database/orm.ts";
import { createScheduleEvent } from "../../testing/trigger_events.ts";
import type { FunctionFile } from "../discovery/function_files.ts";
import type { FunctionStore } from "./functions/function_store.ts";
import type { RelayResult } from "../../jobs/relay.ts";
import type { Invoker } from "./functions/invoker.ts";
import type { Call } from "./functions/recorder.ts";

/** Options of {@link startRelayTimer}. */
export interface RelayTimerOptions {
  readonly store: FunctionStore;
  readonly invoker: Invoker;
  /** The local database; omitted for the one in the environment. */
  readonly database: DatabaseConfig | undefined;
  /** Registers work that must finish before the server stops. */
  readonly track: (work: Promise<unknown>) => unknown;
  /**
   * Milliseconds between two calls without due jobs.
   * @default 60_000, as the schedule of a deployed relay
   */
  readonly scheduleMs?: number;
  /**
   * Milliseconds between two looks for due jobs.
   * @default 1000
   */
  readonly lookMs?: number;
}

/**
 * Invokes the relays of jobs: each minute, as their schedule does when they are deployed, and
 * as soon as a job is due.
 *
 * @returns Stops the timer.
 */
export function startRelayTimer(
  { store, invoker, database, track, scheduleMs = 60_000, lookMs = 1000 }: RelayTimerOptions,
): () => void {
  let lastMs = performance.now();
  let running = Promise.resolve();
  let isRunning = false;

  async function look(): Promise<void> {
    const relays = await findRelays(store);
    if (relays.length === 0) return;
    const isScheduled = performance.now() - lastMs >= scheduleMs;
    if (!isScheduled && !await hasDueJobs(database)) return;
    lastMs = performance.now();
    const title = isScheduled ? "each minute" : "jobs are due";
    for (const fn of relays) {
      await invoker.invoke(fn, createScheduleEvent(), { title: `${fn.name} ← ${title}` }, isIdle);
    }
  }
  const timer = setInterval(() => {
    if (isRunning) return;
    isRunning = true;
    running = look().catch(() => {}).finally(() => isRunning = false);
    track(running);
  }, lookMs);
  timer.unref?.();
  return () => clearInterval(timer);
}

/** Checks whether a relay found nothing to do: such calls each minute would hide the others. */
function isIdle({ logs, metrics }: Call, result: unknown): boolean {
  const { delivered, removed } = (result ?? {}) as Partial<RelayResult>;
  return delivered === 0 && removed === 0 &&
    !logs.some(({ level }) => level === "WARN" || level === "ERROR") &&
    !metrics.some((metric) => "JobsEnqueued" in metric);
}

/** A function that cannot be built is reported by the store. */
async function findRelays(store: FunctionStore): Promise<FunctionFile[]> {
  const scheduled = store.list().filter(({ kind }) => kind === "schedule");
  const loaded = await Promise.allSettled(scheduled.map((fn) => store.load(fn)));
  return scheduled.filter((_, at) => {
    const result = loaded[at];
    return result.status === "fulfilled" && result.value.isJobRelay === true;
  });
}

/** False as well where the table is missing, and for a database that is not ours to poll. */
async function hasDueJobs(database: DatabaseConfig | undefined): Promise<boolean> {
  if (database === undefined) return false;
  const rows = await executeRows(
    await getDrizzleClient(database),
    sql`select 1 from "trellis_jobs" where "state" in ('queued', 'running')
      and "due_at" <= statement_timestamp() limit 1`,
  );
  return rows.length > 0;
}
