import type { PlanFinding } from "../../../sql/plan_finding.ts";
import type { FunctionLogin } from "../../permissions/logins.ts";

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
    /** Logins of functions, to be created or to get another password, after the grants. */
    readonly logins?: readonly FunctionLogin[];
  };

/** The state of the migrations. */
export interface MigrationStatusResponse {
  /** True: the request succeeded. */
  readonly ok: true;
  /** The action of the request. */
  readonly action: "status";
  /** Identifies the files in the function; `undefined` if `trellis build` did not bundle it. */
  readonly digest: string | undefined;
  /** Tags of the applied migrations, in order. */
  readonly applied: readonly string[];
  /** Migrations that are not applied, in order. */
  readonly pending: readonly PendingMigration[];
  /** Tags of files that changed after they were applied. */
  readonly changed: readonly string[];
  /** Problems of the pending migrations. */
  readonly findings: readonly PlanFinding[];
}

/** A migration that is not applied. */
export interface PendingMigration {
  /** Name of the file without `.sql`. */
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
  /** True: no statement failed. */
  readonly ok: true;
  /** The action of the request. */
  readonly action: "migrate";
  /** Tags that this invocation has applied. */
  readonly applied: readonly string[];
  /** False if migrations are left: invoke the function again. */
  readonly isComplete: boolean;
  /** True if another run holds the lock. */
  readonly isLocked: boolean;
  /** Warnings among the findings, one sentence each. */
  readonly warnings: readonly string[];
}

/** The result of applying the permission files. */
export interface MigrationGrantsResponse {
  /** True: the files were read. `errors` has the statements that failed. */
  readonly ok: true;
  /** The action of the request. */
  readonly action: "grants";
  /** Number of statements that changed something. */
  readonly applied: number;
  /** Number of statements that had no effect. */
  readonly skipped: number;
  /** Failed statements, one line each: file, line, SQLSTATE. */
  readonly errors: readonly string[];
  /** Number of logins that were created or changed. */
  readonly logins: number;
}

/** A failure. It never contains SQL or values. */
export interface MigrationFailureResponse {
  /** False: the request failed. */
  readonly ok: false;
  /** The reason, and what to do. */
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
