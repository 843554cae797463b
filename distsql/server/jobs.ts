import { randomBytes } from "node:crypto";
import type { FaultRegistry } from "./faults.ts";
import { SqlError } from "./sql_error.ts";
import { quoteLiteral } from "../../sql/quote.ts";

/** Function that runs SQL and returns the rows of the last result as text. */
export type Query = (sql: string) => Promise<(string | null)[][]>;

/** Function that runs work on the server's own connection, one task at a time. */
export type SystemWork = <T>(work: (query: Query) => Promise<T>) => Promise<T>;

/** Job to record. */
export interface NewJob {
  readonly type: "INDEX_BUILD" | "VALIDATE_CONSTRAINT" | "DROP";
  readonly objectId: string;
  readonly objectName: string;
  /** Qualified name of the table, as in the provider's job details. */
  readonly tableName: string;
  /**
   * SQL that finishes the job, with `$object` for the object's current name; omitted for a job that
   * is already done.
   */
  readonly work?: string;
}

const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

/** Milliseconds between attempts while a transaction locks the table. */
const LOCK_RETRY_MS = 50;

/** Creates a job id: 128 random bits as 26 characters of lower-case base32, like the provider's. */
export function createJobId(): string {
  let bits = BigInt(`0x${randomBytes(16).toString("hex")}`) << 2n;
  let id = "";
  for (let index = 0; index < 26; index++) {
    id = BASE32[Number(bits & 31n)] + id;
    bits >>= 5n;
  }
  return id;
}

/** Checks for the form of a job id. */
export function isJobId(text: string): boolean {
  return /^[a-z2-7]{26}$/.test(text);
}

/** Returns the statement that records a job, for the transaction that starts it. */
export function insertJobSql(jobId: string, job: NewJob): string {
  const values = [
    jobId,
    job.work ? "submitted" : "completed",
    job.type,
    job.objectId,
    job.objectName,
    job.tableName,
  ];
  const work = job.work === undefined ? "NULL" : quoteLiteral(job.work);
  return `INSERT INTO sys.job_records (job_id, status, job_type, ` +
    `object_id, object_name, table_name, work) ` +
    `VALUES (${values.map(quoteLiteral).join(", ")}, ${work})`;
}

/** Options of the job runner. */
export interface JobRunnerOptions {
  readonly work: SystemWork;
  readonly faults: FaultRegistry;
  /** Minimum duration of a job in milliseconds. */
  readonly delayMs: number;
  /** Called when a job has changed the catalog. */
  onCatalogChange(): void;
}

/** Runner of index builds and validations, one at a time in the order of their commits. */
export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #finished = new Map<string, Promise<void>>();
  #queue: Promise<void> = Promise.resolve();
  #gate: { promise: Promise<void>; open(): void } | undefined;
  readonly #stop = new AbortController();

  constructor(options: JobRunnerOptions) {
    this.#options = options;
  }

  /** Keeps jobs submitted until {@link release}. */
  hold(): void {
    if (this.#gate) return;
    let open = (): void => {};
    const promise = new Promise<void>((resolve) => {
      open = resolve;
    });
    this.#gate = { promise, open };
  }

  /** Runs held jobs. */
  release(): void {
    this.#gate?.open();
    this.#gate = undefined;
  }

  /** Schedules committed jobs. */
  schedule(jobIds: readonly string[]): void {
    for (const jobId of jobIds) {
      const finished = this.#queue.then(() => this.#run(jobId)).catch(() => {});
      this.#queue = finished;
      this.#finished.set(jobId, finished);
    }
  }

  /** Schedules the unfinished jobs of an earlier server on the same database. */
  async resume(): Promise<void> {
    const rows = await this.#options.work((query) =>
      query(
        "SELECT job_id FROM sys.job_records WHERE status IN " +
          "('submitted', 'processing') ORDER BY start_time",
      )
    );
    this.schedule(rows.map(([jobId]) => jobId ?? ""));
  }

  /** Waits for the end of a job; returns immediately for an unknown job. */
  async wait(jobId: string, signal: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true })
    );
    await Promise.race([this.#finished.get(jobId), aborted, this.#stopped()]);
  }

  /** Stops the runner; pending jobs stay submitted. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.release();
    await this.#queue;
  }

  #stopped(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#stop.signal.aborted) resolve();
      this.#stop.signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  async #pause(ms: number): Promise<void> {
    if (ms === 0 || this.#stop.signal.aborted) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    await Promise.race([
      new Promise((resolve) => timer = setTimeout(resolve, ms)),
      this.#stopped(),
    ]);
    clearTimeout(timer);
  }

  async #run(jobId: string): Promise<void> {
    while (this.#gate) await this.#gate.promise;
    if (this.#stop.signal.aborted) return;
    await this.#setStatus(jobId, "processing");
    await this.#pause(this.#options.delayMs);
    while (!this.#stop.signal.aborted) {
      if (await this.#attempt(jobId)) return this.#options.onCatalogChange();
      await this.#pause(LOCK_RETRY_MS);
    }
  }

  #setStatus(jobId: string, status: string, details?: string): Promise<unknown> {
    const text = details === undefined ? "NULL" : quoteLiteral(details);
    return this.#options.work((query) =>
      query(
        `UPDATE sys.job_records SET status = '${status}', details = ${text}, update_time = ` +
          `clock_timestamp() WHERE job_id = '${jobId}'`,
      )
    );
  }

  /**
   * @returns True if the job has ended; false while a transaction locks the table.
   */
  async #attempt(jobId: string): Promise<boolean> {
    if (this.#options.faults.take(["job-failed"])) {
      await this.#setStatus(jobId, "failed", "the job was made to fail");
      return true;
    }
    try {
      const missing = await this.#options.work((query) => this.#work(query, jobId));
      await this.#setStatus(jobId, "completed", missing && `relation "${missing}" does not exist`);
      return true;
    } catch (error) {
      if (!(error instanceof SqlError)) throw error;
      if (error.sqlstate === "55P03" || error.sqlstate === "40P01") return false;
      await this.#setStatus(
        jobId,
        "failed",
        error.sqlstate === "23505" ? DUPLICATES : error.message,
      );
      return true;
    }
  }

  /**
   * @returns The table's name if the table or the job's object no longer exists: the provider marks
   * such a job as completed.
   */
  async #work(query: Query, jobId: string): Promise<string | undefined> {
    const [row] = await query(
      `SELECT j.work, j.table_name, c.oid::regclass FROM ` +
        `sys.job_records j LEFT JOIN pg_class c ON c.oid = j.object_id ` +
        `WHERE j.job_id = '${jobId}'`,
    );
    const [work, tableName, object] = row ?? [];
    if (!object) return tableName ?? "";
    await query("SET lock_timeout = '100ms'");
    try {
      await query((work ?? "").replace("$object", () => object));
    } finally {
      await query("SET lock_timeout = 0");
    }
  }
}

/** Details of an index build with duplicates (DSB 2026-10-03). */
const DUPLICATES = "found duplicate key(s) while validating index uniqueness";
