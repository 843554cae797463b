import type { Clock } from "../../core/async/clock.ts";
import { describeDriverError, hasSqlState } from "../../errors/driver_error.ts";
import type { DedicatedSession } from "../providers/provider.ts";
import type { DrizzleClient } from "../session/drizzle_client.ts";
import type { HistoryTables } from "./history.ts";
import type { MigrationLock } from "./lock.ts";
import { MigrationError } from "./migration_error.ts";
import { INTERNAL } from "./plan.ts";
import type { MigrationStep, PlannedMigration } from "./steps.ts";

/** Statement for which neither the records nor the catalog show whether it ran. */
export interface UndecidedStatement {
  /** The migration. */
  tag: string;
  /** Number of the statement in the migration, from 1. */
  statement: number;
  /** The statement. */
  sql: string;
}

/** Limits of the wait for locks on tables. */
export interface LockLimits {
  /** Maximum time in milliseconds in which a statement waits for a lock while others queue behind it. */
  readonly timeoutMs: number;
  /** Maximum attempts of a transaction that does not get its locks. */
  readonly maxAttempts: number;
}

/** Limits of a change of rows in batches. */
export interface BackfillLimits {
  /** Duration of a batch that its size is adapted to, in milliseconds. */
  readonly batchMs: number;
  /** Maximum time in milliseconds that a replica may be behind. */
  readonly maxLagMs: number;
  /** Maximum duration of one wait, in milliseconds. */
  readonly maxWaitMs: number;
}

/** State shared by the steps of a run. */
export interface MigrationContext {
  /** Session of the run. */
  session: DedicatedSession;
  /** Tables that record migrations. */
  tables: HistoryTables;
  /** Lock of the run. */
  lock: MigrationLock;
  /** True if the provider limits the rows that a transaction changes. */
  limitsRows: boolean;
  /** Limits of the wait for locks; `undefined` if the provider has no locks. */
  lockLimits: LockLimits | undefined;
  /** Limits of changes of rows in batches. */
  backfill: BackfillLimits;
  /** Maximum duration of a background job, in milliseconds. */
  jobTimeoutMs: number;
  /** Returns true if no further statement may begin, because the time of the run is over. */
  isOver: () => boolean;
  /** Called with each progress message. */
  logger: (message: string) => void;
  /** Clock that waits and reads the time. */
  clock: Clock;
  /** Decides about a statement that may have run. */
  onUndecided:
    | ((statement: UndecidedStatement) => "done" | "run" | Promise<"done" | "run">)
    | undefined;
  /** Opens a drizzle client on the same database, for table recreation. */
  openClient: () => Promise<DrizzleClient>;
}

/** SQLSTATEs of an object that exists already: schema, table, column, function, any other. */
const DUPLICATE = ["42P06", "42P07", "42701", "42723", "42710"];

/** SQLSTATE of an object that cannot be dropped. */
const DEPENDED_ON = ["2BP01"];

/**
 * Creates the error of a statement: its line in the file, its number, the SQLSTATE and the server's
 * message without values, and what is left of the file.
 *
 * @param planned The migration.
 * @param index Index of the statement, from 0.
 * @param cause The thrown error.
 * @param line Line of the statement in the file, if it is not the first one of its step.
 */
export function toMigrationError(
  planned: PlannedMigration,
  index: number,
  cause: unknown,
  line: number | undefined = planned.steps[index]?.line,
): MigrationError {
  if (cause instanceof MigrationError) return cause;
  const { tag, path } = planned.file;
  const reason = describeDriverError(cause);
  const why = reason === undefined ? "" : ` (${reason})`;
  const advice = hasSqlState(cause, DUPLICATE)
    ? `. If all changes of the file are there, such as by another tool, record it: trellis db mark-applied ${tag}`
    : hasSqlState(cause, DEPENDED_ON)
    ? ". If only columns and tables use it that a rollback has kept (__orm_kept_…): trellis db migrate --retain 7d"
    : "";
  const place = tag.startsWith(INTERNAL) || line === undefined ? path : `${path}:${line}`;
  return new MigrationError(
    `${place} failed at statement ${index + 1}${why}${describeRest(planned, index)}${advice}`,
    {
      tag,
      statement: index + 1,
      line,
      cause,
    },
  );
}

/** Describes what a failed statement leaves of its file, and how a run continues. */
function describeRest({ file, steps, atomic }: PlannedMigration, index: number): string {
  if (atomic || file.tag.startsWith(INTERNAL)) return "";
  if (steps[index]?.run === "recreate") {
    return ". Fix the rows and run the migrations again: a recreation continues only with the same " +
      "statement";
  }
  if (index === 0) return "";
  return ". What ran before it stays: fix the rows, or this and later statements of the file, and run the " +
    "migrations again";
}

/** Returns the first words of a statement for logs, which contain no data. */
export function summarizeStatement(step: MigrationStep): string {
  const words = step.sql.replace(/^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)+/, "").split(/[\s(]+/).slice(
    0,
    3,
  );
  return words.filter((word) => /^[A-Za-z]+$/.test(word)).join(" ").toUpperCase();
}
