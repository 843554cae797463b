import type { PlanFinding } from "../plan_finding.ts";

/** A request to a migration function. */
export type MigrationRequest =
  /** Compares the files with the database. */
  | { readonly action: "status" }
  /** Applies pending migrations, and ends early when `budgetSeconds` are over. */
  | { readonly action: "migrate"; readonly digest?: string; readonly budgetSeconds?: number }
  /** Applies the permission files. */
  | {
    readonly action: "grants";
    readonly digest?: string;
    /** Values of `${NAME}` in the files, besides the function's environment. */
    readonly variables?: Readonly<Record<string, string>>;
  };

/** The state of the migrations. */
export interface MigrationStatusResponse {
  readonly ok: true;
  readonly action: "status";
  readonly digest: string | undefined;
  readonly applied: readonly string[];
  readonly pending: readonly PendingMigration[];
  /** Tags of files that changed after they were applied. */
  readonly changed: readonly string[];
  readonly findings: readonly PlanFinding[];
}

/** A migration that is not applied. */
export interface PendingMigration {
  readonly tag: string;
  /** Number of its statements; 0 if they cannot be run. */
  readonly statements: number;
  /** True if they run as one transaction. */
  readonly isTransaction: boolean;
  /** Number of statements that an earlier run has finished. */
  readonly statementsDone: number;
  /** Time of the last record of an earlier run. It also changes while a long statement runs in batches. */
  readonly notedAt?: string;
}

/** The result of a run. */
export interface MigrationRunResponse {
  readonly ok: true;
  readonly action: "migrate";
  /** Tags that this invocation has applied. */
  readonly applied: readonly string[];
  /** False if migrations are left: invoke the function again. */
  readonly isComplete: boolean;
  /** True if another run holds the lock. */
  readonly isLocked: boolean;
  readonly warnings: readonly string[];
}

/** The result of applying the permission files. */
export interface MigrationGrantsResponse {
  readonly ok: true;
  readonly action: "grants";
  readonly applied: number;
  readonly skipped: number;
  /** Failed statements, one line each: file, line, SQLSTATE. */
  readonly errors: readonly string[];
}

/** A failure. It never contains SQL or values. */
export interface MigrationFailureResponse {
  readonly ok: false;
  readonly message: string;
  /** Name of the failed migration's file. */
  readonly file?: string;
  /** Line of the failed statement, from 1. */
  readonly line?: number;
  /** Number of the failed statement in its file, from 1. */
  readonly statement?: number;
}

/** What a migration function returns. */
export type MigrationResponse =
  | MigrationStatusResponse
  | MigrationRunResponse
  | MigrationGrantsResponse
  | MigrationFailureResponse;
