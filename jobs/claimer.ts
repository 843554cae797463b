import type { Clock } from "../core/async/clock.ts";
import type { PlainSql } from "../database/session/plain_sql.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import { isOccError } from "../sql/sqlstate.ts";
import { withDistSqlRetry } from "../database/session/retry.ts";
import { runSqlRows } from "../database/session/run_sql.ts";
import { hasSqlState } from "../errors/driver_error.ts";
import {
  buildClaim,
  type ClaimedRow,
  isDue,
  isInGroup,
  isReady,
  type LeasedJob,
  readLeasedJob,
} from "./claim.ts";
import type { AnyJob } from "./define_job.ts";
import { JOB_SHARDS } from "./job_row.ts";

/** SQLSTATE of a unique violation: another worker has just leased a job of the same group. */
const GROUP_TAKEN = "23505";

/** What leasing needs. */
export interface ClaimerOptions {
  /** Returns the client. */
  readonly getDb: () => DrizzleClient | Promise<DrizzleClient>;
  /** Jobs of the worker. */
  readonly jobs: readonly AnyJob[];
  /** Clock of a test. */
  readonly clock: Clock | undefined;
  /** Source of randomness, from 0 to below 1. */
  readonly random: () => number;
}

/** Ids in one statement. */
const MAX_IDS = 100;

/** Leases jobs from the table. */
export class JobClaimer {
  readonly #options: ClaimerOptions;

  /**
   * @param options Client and jobs.
   */
  constructor(options: ClaimerOptions) {
    this.#options = options;
  }

  /**
   * Leases due jobs. Begins at a shard by chance, so that workers rarely compete.
   *
   * @param limit Maximum number of jobs.
   */
  async claimDue(limit: number): Promise<LeasedJob[]> {
    const { clock, random } = this.#options;
    const first = Math.floor(random() * JOB_SHARDS);
    const found = await this.#claim(isDue(first, false, clock), limit);
    if (found.length > 0 || first === 0) return found;
    return await this.#claim(isDue(first, true, clock), limit);
  }

  /**
   * Leases the next job of a group.
   *
   * @param group The group.
   */
  claimGroup(group: string): Promise<LeasedJob[]> {
    return this.#claim(isInGroup(group, this.#options.clock), 1);
  }

  /**
   * Creates a function that leases jobs by their ids, each one once.
   *
   * @param ids The ids.
   */
  claimOnce(ids: readonly string[]): () => Promise<LeasedJob[]> {
    const left = [...new Set(ids)];
    const claimNext = async (): Promise<LeasedJob[]> => {
      while (left.length > 0) {
        const batch = left.splice(0, MAX_IDS);
        const found = await this.#claim(isReady(batch, this.#options.clock), batch.length);
        if (found.length > 0) return found;
      }
      return [];
    };
    return claimNext;
  }

  /** A lease that was written without an answer expires. */
  async #claim(condition: PlainSql, limit: number): Promise<LeasedJob[]> {
    const { getDb, jobs, clock } = this.#options;
    const statement = buildClaim(condition, { jobs, limit, clock });
    const db = await getDb();
    try {
      const rows = await withDistSqlRetry(() => runSqlRows<ClaimedRow>(db, statement));
      return rows.map(readLeasedJob);
    } catch (error) {
      // others were faster; on the distributed provider that is a conflict
      if (hasSqlState(error, [GROUP_TAKEN]) || isOccError(error)) return [];
      throw error;
    }
  }
}
