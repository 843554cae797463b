import { randomBytes } from "node:crypto";
import { quoteLiteral } from "./backend.ts";
import type { FaultRegistry } from "./faults.ts";
import { SqlError } from "./sql_error.ts";

/** Runs SQL and gives the rows of the last result as text. */
export type Query = (sql: string) => Promise<(string | null)[][]>;

/** Runs work with a connection of the server's own, one piece after the other. */
export type SystemWork = <T>(work: (query: Query) => Promise<T>) => Promise<T>;

/** What a new job is about. */
export interface NewJob {
  readonly type: "INDEX_BUILD" | "VALIDATE_CONSTRAINT" | "DROP";
  readonly objectId: string;
  readonly objectName: string;
  /** The qualified name of the table, as in the provider's details. */
  readonly tableName: string;
  /** SQL that finishes the job, with `$object` for the object's name by then; none for a job that is done when it is recorded. */
  readonly work?: string;
}

const BASE32 = "abcdefghijklmnopqrstuvwxyz234567";

/** How long a job waits for a table that a transaction keeps, before it tries again. */
const LOCK_RETRY_MS = 50;

/** 128 random bits as 26 characters of lower-case base32, the form of the provider's job ids. */
export function createJobId(): string {
  let bits = BigInt(`0x${randomBytes(16).toString("hex")}`) << 2n;
  let id = "";
  for (let index = 0; index < 26; index++) {
    id = BASE32[Number(bits & 31n)] + id;
    bits >>= 5n;
  }
  return id;
}

/** Whether a text has the form of a job id. */
export function isJobId(text: string): boolean {
  return /^[a-z2-7]{26}$/.test(text);
}

/** The statement that records a job, for the transaction that starts it. */
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
  return `INSERT INTO sys.job_records (job_id, status, job_type, object_id, object_name, table_name, work) ` +
    `VALUES (${values.map(quoteLiteral).join(", ")}, ${work})`;
}

/** How jobs are run. */
export interface JobRunnerOptions {
  readonly work: SystemWork;
  readonly faults: FaultRegistry;
  /** How long a job takes at least, in milliseconds. */
  readonly delayMs: number;
  /** Called when a job has changed the catalog. */
  onCatalogChange(): void;
}

/** Runs index builds and validations one after the other, in the order of their commits. */
export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #finished = new Map<string, Promise<void>>();
  #queue: Promise<void> = Promise.resolve();
  #gate: { promise: Promise<void>; open(): void } | undefined;
  readonly #stop = new AbortController();

  constructor(options: JobRunnerOptions) {
    this.#options = options;
  }

  /** Keeps jobs as submitted until {@link release}. */
  hold(): void {
    if (this.#gate) return;
    let open = (): void => {};
    const promise = new Promise<void>((resolve) => {
      open = resolve;
    });
    this.#gate = { promise, open };
  }

  /** Lets held jobs run. */
  release(): void {
    this.#gate?.open();
    this.#gate = undefined;
  }

  /** Takes jobs that were committed. */
  schedule(jobIds: readonly string[]): void {
    for (const jobId of jobIds) {
      const finished = this.#queue.then(() => this.#run(jobId)).catch(() => {});
      this.#queue = finished;
      this.#finished.set(jobId, finished);
    }
  }

  /** Takes up the jobs that an earlier server on the same database left. */
  async resume(): Promise<void> {
    const rows = await this.#options.work((query) =>
      query(
        "SELECT job_id FROM sys.job_records WHERE status IN ('submitted', 'processing') ORDER BY start_time",
      )
    );
    this.schedule(rows.map(([jobId]) => jobId ?? ""));
  }

  /** Resolves when the job has ended, or at once when it is not known. */
  async wait(jobId: string, signal: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true })
    );
    await Promise.race([this.#finished.get(jobId), aborted, this.#stopped()]);
  }

  /** Ends the runner; jobs that have not run stay submitted. */
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
        `UPDATE sys.job_records SET status = '${status}', details = ${text}, update_time = clock_timestamp() WHERE job_id = '${jobId}'`,
      )
    );
  }

  /** @returns Whether the job has ended; false when a transaction keeps the table. */
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

  /** @returns The table's name when it, or the object of the job, is there no more: the provider calls that completed. */
  async #work(query: Query, jobId: string): Promise<string | undefined> {
    const [row] = await query(
      `SELECT j.work, j.table_name, c.oid::regclass FROM sys.job_records j LEFT JOIN pg_class c ON c.oid = j.object_id ` +
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

/** The details of an index build that met duplicates (DSB 2026-10-03). */
const DUPLICATES = "found duplicate key(s) while validating index uniqueness";
