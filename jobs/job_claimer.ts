import type { Clock } from "../core/async/clock.ts";
import { remainingMs } from "../core/request_context.ts";
import { type PlainSql, sql } from "../database/session/plain_sql.ts";
import { type DistSqlRetryOptions, withDistSqlRetry } from "../database/session/retry.ts";
import { runSqlRows } from "../database/session/run_sql.ts";
import { withTransaction } from "../database/session/transaction.ts";
import { hasSqlState } from "../errors/driver_error.ts";
import { isOccError } from "../sql/sqlstate.ts";
import {
  buildClaim,
  type ClaimedRow,
  type ClaimOptions,
  type JobCall,
  type LeasedJob,
  readLeasedJob,
  seekName,
  selectBatches,
  selectByIds,
  selectJoining,
  selectNextOfGroup,
  type SoughtName,
} from "./claim.ts";
import type { AnyJob } from "./define_job.ts";
import { deliverAgain } from "./enqueue.ts";
import { JOB_SHARDS } from "./job_row.ts";
import { type CommittedJob, getDueSeconds, getJobsConfig } from "./job_settings.ts";
import { explainTable, MAX_IDS, MAX_LEASED, sqlIds, sqlIn } from "./job_sql.ts";
import {
  buildKeyWait,
  claimLimited,
  type LimitedName,
  moveIds,
  probeLimited,
  seekLimited,
} from "./limits.ts";
import type { RunnerOptions } from "./run_attempt.ts";

/** SQLSTATE of a unique violation: another worker has just leased a job of the same group. */
const GROUP_TAKEN = "23505";

/** What leasing needs. */
export interface ClaimerOptions extends Pick<RunnerOptions, "getDb" | "clock" | "random"> {
  /** Jobs of the worker. */
  readonly jobs: readonly AnyJob[];
  /** Called with the milliseconds until the rate of a job allows its next attempt, when one waits for it. */
  readonly onWait?: (ms: number) => void;
}

/** Claims of which the last one leaves out groups. */
const MAX_CLAIMS = 3;

/**
 * Leases jobs for at most as many calls of handlers as `getLimit` says when the statement is sent, of jobs with a limit if
 * `isLimited`; none if there are no more.
 */
export type NextJobs = (getLimit: (isLimited?: boolean) => number) => Promise<JobCall[]>;

/** Shortest time after which a queue delivers a job again that waits for its limit, in seconds. */
const LIMITED_DELAY_SECONDS = 30;

/**
 * Claims of this process. After twice as many, the next plan is made: PostgreSQL keeps the plan of a prepared
 * statement with its connection, and for a small table that is to read all of it. The table grows with each
 * job that is run.
 */
let claims = 0;

function getPlan(): number {
  return Math.floor(Math.log2(++claims));
}

/** Looks at a name of which another worker leases jobs, and the average time between two of them. */
const MAX_LOOKS = 5;
const LOOK_MS = 10;

/** Rolls back the transaction of a claim without jobs, so that no other one conflicts with it. */
const NOTHING = new Error("No job was leased");

const FIRST_KEY = "00000000-0000-0000-0000-000000000000";

/** Leases jobs from the table. */
export class JobClaimer {
  readonly #options: ClaimerOptions;
  /** Jobs without a limit. */
  readonly #free: readonly AnyJob[];
  readonly #limited: readonly AnyJob[];
  /** Jobs of a batch, if a look at the jobs without a limit leases whole batches. */
  readonly #batchSize: number;
  #names: Promise<SoughtName[]> | undefined;
  #limitedNames: Promise<LimitedName[]> | undefined;

  /**
   * @param options Client and jobs.
   */
  constructor(options: ClaimerOptions) {
    this.#options = options;
    this.#free = options.jobs.filter(({ settings }) => settings.limit === undefined);
    this.#limited = options.jobs.filter(({ settings }) => settings.limit !== undefined);
    // of which of several names the jobs are is known only when they are leased
    this.#batchSize = this.#free.length === 1 ? this.#free[0].settings.batchSize : 1;
  }

  /**
   * Leases due jobs. Begins with those that have a limit, or with the others, by chance.
   *
   * @param getLimit Returns the maximum number of calls.
   */
  async claimDue(getLimit: Parameters<NextJobs>[0]): Promise<JobCall[]> {
    const { jobs, random } = this.#options;
    const startsLimited = random() * jobs.length < this.#limited.length;
    const calls: JobCall[] = [];
    for (const isLimited of [startsLimited, !startsLimited]) {
      const limit = getLimit(isLimited) - calls.length;
      if (limit <= 0) continue;
      calls.push(
        ...isLimited
          ? toCalls(await this.claimLimited(limit))
          : toCalls(await this.#claimFree(limit), this.#batchSize),
      );
    }
    return calls.sort((a, b) => compareOrder(a.jobs[0], b.jobs[0]));
  }

  /**
   * Leases due jobs without a limit. Begins at a shard by chance, so that workers rarely compete, and at a name by chance, so
   * that none waits for the end of a long queue of another.
   */
  async #claimFree(limit: number): Promise<LeasedJob[]> {
    const { random } = this.#options;
    if (this.#free.length === 0) return [];
    const first = Math.floor(random() * JOB_SHARDS);
    const names = rotate(await this.#findFree(), random);
    const size = this.#batchSize;
    return await this.#claim(
      (options) => selectBatches(first, { ...options, names }, size),
      size === 1 ? limit : Math.min(limit, Math.floor(MAX_LEASED / size)),
    );
  }

  /**
   * Leases due jobs that have a limit.
   *
   * @param limit Maximum number of jobs.
   * @param only Only jobs of these names.
   */
  async claimLimited(limit: number, only?: ReadonlySet<string>): Promise<LeasedJob[]> {
    const { getDb, clock, random, onWait } = this.#options;
    const names = (await this.#findLimited()).filter(({ name }) => only?.has(name) ?? true);
    if (names.length === 0) return [];
    const db = await getDb();
    const probed = await attemptClaim(() => probeLimited(db, names, clock, getPlan()));
    const found: LeasedJob[] = [];
    for (const { name, waitMs, places } of rotate(probed, random)) {
      const left = Math.min(limit - found.length, places);
      if (waitMs > 0) onWait?.(waitMs);
      else if (left > 0) {
        const sought = findName(names, name);
        const ofName = await this.#claimName(sought, left);
        found.push(...ofName);
        if (ofName.length < left) await this.#waitForKey(sought);
      }
    }
    return found;
  }

  /** A worker looks again when the rate of a key allows the next job. */
  async #waitForKey(sought: LimitedName): Promise<void> {
    const { getDb, clock, onWait } = this.#options;
    if (onWait === undefined || sought.limit.perKey?.rate === undefined) return;
    const statement = buildKeyWait(sought, clock);
    const [{ wait_ms }] = await runSqlRows<{ wait_ms: number | null }>(await getDb(), statement);
    if (wait_ms !== null) onWait(Number(wait_ms));
  }

  #findFree(): Promise<SoughtName[]> {
    return this.#names ??= Promise.all(
      this.#free.map(({ jobName, settings }) => seekName(jobName, settings.version)),
    );
  }

  #findLimited(): Promise<LimitedName[]> {
    return this.#limitedNames ??= Promise.all(this.#limited.map(seekLimited));
  }

  async #claimName(
    sought: LimitedName,
    limit: number,
    ids?: readonly string[],
  ): Promise<LeasedJob[]> {
    const { getDb, clock } = this.#options;
    const db = await getDb();
    for (let look = 1;; look++) {
      // true after a conflict, too
      let isBusy = true;
      const found = await repeatClaim((withGroups) =>
        withTransaction(db, async (tx) => {
          // a name without keys has one range of jobs
          const from = sought.limit.perKey === undefined ? FIRST_KEY : crypto.randomUUID();
          const claim = { limit, clock, withGroups, ids, from };
          const claimed = await claimLimited(tx, sought, claim, getPlan());
          isBusy = claimed === undefined;
          if (claimed === undefined || claimed.length === 0) throw NOTHING;
          return claimed;
        }).catch((error) => {
          if (error !== NOTHING) throw error;
          return [];
        }), { maxRetries: 0 });
      if (!isBusy || look === MAX_LOOKS) return found;
      // the other worker may not have seen the place that has just become free
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS * (0.5 + Math.random())));
    }
  }

  /**
   * Leases the jobs that are missing in a batch.
   *
   * @param call The first job of the batch.
   * @param batchSize Jobs of a batch.
   * @returns All jobs of the batch; only those of the call if no others can be leased.
   */
  async fillBatch({ jobs, isWhole }: JobCall, batchSize: number): Promise<readonly LeasedJob[]> {
    const [{ name, shard }] = jobs;
    if (isWhole || batchSize === 1 || !mayJoin(jobs[0])) return jobs;
    const first = Math.max(0, Math.min(shard, JOB_SHARDS - 1));
    const others = await this.#claim(({ names, ...options }) => {
      const only = names.filter((sought) => sought.name === name);
      return selectJoining(first, { ...options, names: only });
    }, batchSize - jobs.length).catch(() => []);
    return [...jobs, ...others];
  }

  /**
   * Leases the next job of a group, if it has no limit.
   *
   * @param group The group.
   */
  async claimGroup(group: string): Promise<LeasedJob[]> {
    if (this.#free.length === 0) return [];
    return await this.#claim((options) => selectNextOfGroup(group, options), 1);
  }

  /** True if jobs of this worker have limits. */
  get hasLimits(): boolean {
    return this.#limited.length > 0;
  }

  /**
   * Creates a function that leases jobs by their ids, each one once. Those that wait for their limit are handed over
   * again after a delay, where the delivery keeps one; jobs of their names are leased instead until they have no place.
   *
   * @param ids The ids.
   */
  claimOnce(ids: readonly string[]): NextJobs {
    const left = new Set(this.#free.length > 0 ? ids : []);
    const limited = new Set(this.hasLimits ? ids : []);
    const ran = new Set<string>();
    const claimNext = async (getLimit: Parameters<NextJobs>[0]): Promise<LeasedJob[]> => {
      while (left.size > 0) {
        const batch = [...left].slice(0, MAX_IDS);
        const limit = getLimit();
        const found = await this.#claim((options) => selectByIds(batch, options), limit);
        // fewer than asked for: the others of the batch cannot run now
        const seen = found.length < limit ? batch : found.map(({ id }) => id);
        for (const id of seen) left.delete(id);
        for (const { id } of found) limited.delete(id);
        if (found.length > 0) return found;
      }
      while (limited.size > 0) {
        const batch = [...limited].slice(0, MAX_IDS);
        const { found, waiting } = await this.#claimLimitedIds(batch, getLimit(true));
        for (const { name } of found) ran.add(name);
        const seen = found.length === 0 ? batch : batch.filter((id) => !waiting.includes(id));
        for (const id of seen) limited.delete(id);
        if (found.length > 0) return found;
        await this.#deliverLater(waiting);
      }
      if (getJobsConfig().delivery?.maxDelaySeconds === undefined) return [];
      // a job that began too late would lose an attempt
      const leftMs = remainingMs();
      const next = this.#limited.filter(({ jobName, settings }) =>
        ran.has(jobName) && settings.timeoutMs < leftMs
      );
      return await this.claimLimited(getLimit(true), new Set(next.map(({ jobName }) => jobName)));
    };
    return async (getLimit) => toCalls(await claimNext(getLimit));
  }

  /** Leases jobs by their ids, and returns those that wait for their limit. */
  async #claimLimitedIds(
    ids: readonly string[],
    limit: number,
  ): Promise<{ found: LeasedJob[]; waiting: string[] }> {
    const { getDb, clock } = this.#options;
    const names = await this.#findLimited();
    const db = await getDb();
    const moved = await attemptClaim(() => moveIds(db, ids, names, clock));
    const found: LeasedJob[] = [];
    for (const [name, idsOfName] of moved) {
      const left = limit - found.length;
      if (left > 0) {
        found.push(...await this.#claimName(findName(names, name), left, idsOfName));
      }
    }
    const leased = new Set(found.map(({ id }) => id));
    return {
      found,
      waiting: moved.flatMap(([, ofName]) => ofName).filter((id) => !leased.has(id)),
    };
  }

  /** Hands jobs over again after a delay. One whose next delivery is later already is left. */
  async #deliverLater(ids: readonly string[]): Promise<void> {
    const { maxDelaySeconds = 0 } = getJobsConfig().delivery ?? {};
    if (ids.length === 0 || !(maxDelaySeconds >= LIMITED_DELAY_SECONDS)) return;
    const { getDb, clock, random } = this.#options;
    const delaySeconds = Math.min(maxDelaySeconds, LIMITED_DELAY_SECONDS * (1 + random()));
    const db = await getDb();
    const statement = buildLater(ids, delaySeconds, clock);
    const rows = await withDistSqlRetry(() => runSqlRows<Undelivered>(db, statement));
    for (const row of rows) await deliverAgain({ ...row, delaySeconds });
  }

  async #claim(select: (options: ClaimOptions) => PlainSql, limit: number): Promise<LeasedJob[]> {
    const { getDb, clock } = this.#options;
    const jobs = this.#free;
    const db = await getDb();
    const names = await this.#findFree();
    return await repeatClaim(async (withGroups) => {
      const locked = select({ names, limit, clock, withGroups });
      const rows = await runSqlRows<ClaimedRow>(db, buildClaim(locked, { jobs, clock }, getPlan()));
      return rows.map(readLeasedJob);
    });
  }
}

/**
 * Leases jobs. A lease that was written without an answer expires. A job of a group that another worker leased at the same
 * time makes the whole statement fail: the next one sees that lease. The last one leaves out groups, so that jobs of others
 * never wait for them.
 */
async function repeatClaim(
  claim: (withGroups: boolean) => Promise<LeasedJob[]>,
  retry?: DistSqlRetryOptions,
): Promise<LeasedJob[]> {
  for (let attempt = 1;; attempt++) {
    const withGroups = attempt < MAX_CLAIMS;
    try {
      return await attemptClaim(() => claim(withGroups), retry);
    } catch (error) {
      if (!withGroups || !hasSqlState(error, [GROUP_TAKEN])) throw error;
    }
  }
}

/** Runs a statement again after a conflict. Returns nothing if others were faster each time, on the distributed provider. */
async function attemptClaim<T>(
  work: () => Promise<T[]>,
  retry?: DistSqlRetryOptions,
): Promise<T[]> {
  return await withDistSqlRetry(work, retry).catch((error) => {
    if (isOccError(error)) return [];
    throw explainTable(error);
  });
}

function findName(names: readonly LimitedName[], name: string): LimitedName {
  return names.find((each) => each.name === name)!;
}

/** The order in which leased jobs begin: a statement returns them in any order. */
function compareOrder(a: LeasedJob, b: LeasedJob): number {
  return a.shard - b.shard || b.waitedMs - a.waitedMs;
}

/** Checks whether a job may be one of a batch. */
function mayJoin({ group, isFirst }: LeasedJob): boolean {
  return group === null && isFirst;
}

/** Divides jobs into calls: whole batches, or with a size of 1 the first jobs of them. */
function toCalls(found: readonly LeasedJob[], batchSize = 1): JobCall[] {
  const isWhole = batchSize > 1;
  const calls: JobCall[] = [];
  let batch: LeasedJob[] = [];
  for (const job of found.toSorted(compareOrder)) {
    if (!isWhole || !mayJoin(job)) calls.push({ jobs: [job], isWhole });
    else if (batch.push(job) === 1) calls.push({ jobs: batch, isWhole });
    else if (batch.length === batchSize) batch = [];
  }
  return calls;
}

/** Begins a list at an item by chance. */
function rotate<T>(all: readonly T[], random: () => number): T[] {
  const at = Math.floor(random() * all.length);
  return [...all.slice(at), ...all.slice(0, at)];
}

type Undelivered = Omit<CommittedJob, "delaySeconds">;

/**
 * Builds the statement that leaves jobs to their next delivery.
 *
 * @param ids At most {@link MAX_IDS} ids.
 * @param delaySeconds Time until the delivery.
 * @param clock Clock of a test.
 */
export function buildLater(
  ids: readonly string[],
  delaySeconds: number,
  clock: Clock | undefined,
): PlainSql {
  return sql`update "trellis_jobs" set "due_at" = ${sqlIn(clock, getDueSeconds(delaySeconds))}
  where "id" = any(${sqlIds(ids)}) and "state" = 'queued' and "due_at" <= ${
    sqlIn(clock, getDueSeconds(0))
  } returning "id", "name", "group_key" as "group", "correlation_id" as "correlationId"`;
}
