import { runOutsideInvocation } from "../observability/invocation_context.ts";
import { log } from "../observability/logger.ts";
import type { DrizzleClient } from "../database/session/drizzle_client.ts";
import type { JobDelivery } from "./job_settings.ts";

/** Channel of PostgreSQL on which inserts announce jobs. A notification holds the seconds until one may run. */
export const JOBS_CHANNEL = "trellis_jobs";

/** Called with the seconds until a job may run. */
type OnJobs = (delaySeconds: number) => void;

/** Workers of this process that listen. */
const wakers: Set<OnJobs> = new Set();

/**
 * Creates the delivery for servers: each insert of jobs notifies the workers of all processes in its own
 * statement (`NOTIFY`), and a started worker (`worker.start()`) looks at the table at once. It needs
 * PostgreSQL without a pooler in transaction mode between worker and server. Without a notification,
 * such as after a cut, the worker finds a job with its next look.
 *
 * @returns The delivery for `configureJobs`, in the processes that enqueue and in those that work.
 *
 * @example
 * ```ts
 * import { configureJobs, createJobWorker, createNotifyDelivery, defineJob, JOBS_MIGRATION_SQL } from "@trellis/fn/jobs";
 * import { sql } from "@trellis/fn/database/orm";
 * import { createTestDatabase } from "@trellis/fn/testing";
 * import * as z from "zod";
 *
 * const { db, close } = await createTestDatabase();
 * for (const statement of JOBS_MIGRATION_SQL.split("--> statement-breakpoint")) {
 *   await db.execute(sql.raw(statement));
 * }
 * const restore = configureJobs({ delivery: createNotifyDelivery() });
 * const greet = defineJob({ name: "greet", schema: z.string() })(({ payload }) => console.log(payload));
 * const worker = createJobWorker({ getDb: () => db, jobs: [greet] });
 * worker.start();
 *
 * const id = await greet.enqueue(db, "hello"); // hello
 * await greet.waitFor(db, id);
 * await worker.stop();
 * restore();
 * await close();
 * ```
 */
export function createNotifyDelivery(): JobDelivery {
  return {
    graceSeconds: 0,
    maxDelaySeconds: Infinity,
    isOutside: true,
    notifies: true,
    // also the next attempts of this process's own jobs, which no insert announces
    deliver(jobs): Promise<void> {
      for (const { delaySeconds } of jobs) for (const onJobs of wakers) onJobs(delaySeconds);
      return Promise.resolve();
    },
  };
}

/** Client that receives notifications: the pool of provider `postgres`, or PGlite. */
interface Listenable {
  listen(channel: string, onNotify: (payload: string) => void): Promise<Listening>;
}

/** Ends the listening. The connection of a pool can also end by itself; PGlite has none. */
type Listening = (() => Promise<void>) & { readonly ended?: Promise<void> };

function isListenable(client: unknown): client is Listenable {
  return typeof (client as Partial<Listenable> | undefined)?.listen === "function";
}

/** Listens for jobs on a separate connection. */
export class JobListener {
  readonly #getDb: () => DrizzleClient | Promise<DrizzleClient>;
  readonly #onJobs: OnJobs;
  #close: (() => Promise<void>) | undefined;
  #hasWarned = false;

  /**
   * @param getDb Returns the client.
   * @param onJobs Called for each notification; with 0 seconds if the connection ends.
   */
  constructor(getDb: () => DrizzleClient | Promise<DrizzleClient>, onJobs: OnJobs) {
    this.#getDb = getDb;
    this.#onJobs = onJobs;
  }

  /** True while notifications arrive. */
  get isListening(): boolean {
    return this.#close !== undefined;
  }

  /** Listens, if it does not already. Never throws: the worker polls more often instead. */
  async open(): Promise<void> {
    if (this.isListening) return;
    try {
      const { $client } = await this.#getDb() as { $client?: unknown };
      if (!isListenable($client)) throw new Error("The provider has no LISTEN");
      const listening = await runOutsideInvocation(() =>
        $client.listen(JOBS_CHANNEL, (payload) => this.#onJobs(Number(payload)))
      );
      listening.ended?.then(() => this.#lose());
      this.#close = listening;
      wakers.add(this.#onJobs);
      this.#hasWarned = false;
    } catch (error) {
      if (!this.#hasWarned) {
        log("WARN", "listening for jobs failed, the worker looks at the table more often", {
          error,
        });
      }
      this.#hasWarned = true;
    }
  }

  #lose(): void {
    this.#close = undefined;
    this.#onJobs(0);
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    wakers.delete(this.#onJobs);
    const close = this.#close;
    this.#close = undefined;
    await close?.();
  }
}
