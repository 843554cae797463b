import type { FaultRegistry } from "./faults.ts";
import type { Refusal } from "./rules/rule.ts";
import type { ConflictMarker, SqlError } from "./sql_error.ts";
import type { Statement } from "./statements.ts";

/** The provider's limits on a transaction; a test may make them small. */
export interface DistSqlLimits {
  /**
   * Rows that a transaction may change.
   *
   * @default 3000
   */
  readonly rows: number;
  /**
   * Bytes that a transaction may change, index entries included.
   *
   * @default 10485760
   */
  readonly bytes: number;
  /**
   * How old a transaction may become, in milliseconds.
   *
   * @default 300000
   */
  readonly transactionAgeMs: number;
}

/** What has happened since the server started. */
export interface DistSqlStatistics {
  /** Connections that were accepted. */
  connections: number;
  /** Statements that were run, refused ones included. */
  statements: number;
  /** Transactions that were committed, implicit ones included when they changed something. */
  commits: number;
  /** Answers with SQLSTATE 40001. */
  conflicts: number;
  /** Answers with SQLSTATE 0A000 or 54000. */
  refusals: number;
}

/** What a session needs of its server. */
export interface ServerContext {
  readonly faults: FaultRegistry;
  readonly limits: DistSqlLimits;
  readonly statistics: DistSqlStatistics;
  readonly superuser: string;
  readonly isConcurrent: boolean;
  readonly catalogVersion: number;
  /** Whether other sessions are told OC001 once after each change of the catalog. */
  readonly reportsCatalogChanges: boolean;
  /** Milliseconds since the epoch. */
  now(): number;
  parse(sql: string): Statement[];
  refuse(statement: Statement): Refusal | undefined;
  countError(error: SqlError): void;
  /** @returns The new version. */
  noteCatalogChange(): number;
  scheduleJobs(jobIds: readonly string[]): void;
  /** Waits for a job until the connection of this transaction runner ends or is cancelled. */
  waitForJob(jobId: string, runner: object): Promise<void>;
  /** Makes idle transactions that block a statement lose; the returned function ends the watch. */
  watchBlocked(processId: number, marker: ConflictMarker): () => void;
}
