import type { Clock } from "../core/async/clock.ts";
import { executeRows } from "../database/execute.ts";
import type { DrizzleClient } from "../database/providers/provider.ts";
import { withDistSqlRetry } from "../database/retry.ts";
import { buildFinish, type DoneJob, MAX_FINISHED } from "./finish.ts";

interface Waiting {
  readonly job: DoneJob;
  readonly resolve: (held: boolean) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Marks jobs as done. Jobs that end while a statement is under way are marked together by the next
 * one, so that many short jobs need few statements.
 */
export class JobFinisher {
  readonly #getDb: () => DrizzleClient | Promise<DrizzleClient>;
  readonly #clock: Clock | undefined;
  readonly #waiting: Waiting[] = [];
  #isBusy = false;

  /**
   * @param getDb Returns the client.
   * @param clock Clock of a test.
   */
  constructor(getDb: () => DrizzleClient | Promise<DrizzleClient>, clock: Clock | undefined) {
    this.#getDb = getDb;
    this.#clock = clock;
  }

  /**
   * Marks a job as done.
   *
   * @param job The job.
   * @returns `false` if the lease was lost: another worker runs the job again.
   */
  finish(job: DoneJob): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job, resolve, reject });
      if (!this.#isBusy) this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    while (this.#waiting.length > 0) await this.#finishBatch(this.#waiting.splice(0, MAX_FINISHED));
    this.#isBusy = false;
  }

  async #finishBatch(batch: readonly Waiting[]): Promise<void> {
    try {
      const db = await this.#getDb();
      const statement = buildFinish(batch.map(({ job }) => job), this.#clock);
      const rows = await withDistSqlRetry(() => executeRows<{ id: string }>(db, statement));
      const held = new Set(rows.map(({ id }) => id));
      for (const { job, resolve } of batch) resolve(held.has(job.id));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
