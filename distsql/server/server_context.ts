import type { FaultRegistry } from "./faults.ts";
import type { Refusal } from "./rules/rule.ts";
import type { ConflictMarker, SqlError } from "./sql_error.ts";
import type { Statement } from "./syntax/statements.ts";

/** Limits of a transaction; tests may lower them. */
export interface DistSqlLimits {
  /**
   * Maximum number of changed rows per transaction.
   *
   * @default 3000
   */
  readonly rows: number;
  /**
   * Maximum number of changed bytes per transaction, including index entries.
   *
   * @default 10485760
   */
  readonly bytes: number;
  /**
   * Maximum age of a transaction in milliseconds.
   *
   * @default 300000
   */
  readonly transactionAgeMs: number;
}

/** Counters since the server started. */
export interface DistSqlStatistics {
  /** Accepted connections. */
  connections: number;
  /** Statements run, including rejected ones. */
  statements: number;
  /** Committed transactions, including implicit ones that changed something. */
  commits: number;
  /** Answers with SQLSTATE 40001. */
  conflicts: number;
  /** Answers with SQLSTATE 0A000 or 54000. */
  refusals: number;
}

/** Server of a session. */
export interface ServerContext {
  readonly faults: FaultRegistry;
  readonly limits: DistSqlLimits;
  readonly statistics: DistSqlStatistics;
  readonly superuser: string;
  readonly isConcurrent: boolean;
  readonly catalogVersion: number;
  /** True if other sessions get OC001 once after each change of the catalog. */
  readonly reportsCatalogChanges: boolean;
  /** Returns the time in milliseconds since the epoch. */
  now(): number;
  parse(sql: string): Statement[];
  refuse(statement: Statement): Refusal | undefined;
  countError(error: SqlError): void;
  /**
   * @returns The new version.
   */
  noteCatalogChange(): number;
  scheduleJobs(jobIds: readonly string[]): void;
  /** Waits for a job; ends early if the runner's connection ends or is cancelled. */
  waitForJob(jobId: string, runner: object): Promise<void>;
  /**
   * Makes idle transactions that block a statement lose; returns a function that ends the watch.
   */
  watchBlocked(processId: number, marker: ConflictMarker): () => void;
}
