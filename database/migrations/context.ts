import type { Clock } from "../../core/async/clock.ts";
import { findInCauseChain } from "../../errors/cause_chain.ts";
import { getSqlState, readDriverError } from "../../errors/driver_error.ts";
import type { DedicatedSession, DrizzleClient } from "../providers/provider.ts";
import type { HistoryTables } from "./history.ts";
import type { MigrationLock } from "./lock.ts";
import { MigrationError } from "./migration_error.ts";
import type { MigrationStep } from "./steps.ts";

/** A statement of which neither the progress nor the catalog tells whether it ran. */
export interface UndecidedStatement {
  /** The migration. */
  tag: string;
  /** The statement's place among the migration's statements, from 1. */
  statement: number;
  /** The statement. */
  sql: string;
}

/** What the steps of a run share. */
export interface MigrationContext {
  /** The runner's session. */
  session: DedicatedSession;
  /** The runner's tables. */
  tables: HistoryTables;
  /** The right to run. */
  lock: MigrationLock;
  /** Whether the provider limits the rows that a transaction changes. */
  limitsRows: boolean;
  /** Milliseconds that a background job may take. */
  jobTimeoutMs: number;
  /** Told what happens. */
  logger: (message: string) => void;
  /** Waits. */
  clock: Clock;
  /** Decides where nothing else can. */
  onUndecided:
    | ((statement: UndecidedStatement) => "done" | "run" | Promise<"done" | "run">)
    | undefined;
  /** A drizzle client on the same database, for making tables again. */
  openClient: () => Promise<DrizzleClient>;
}

/**
 * The error of a statement: the place in the file, the SQLSTATE and the server's words without values.
 *
 * @param tag The migration.
 * @param index The statement's place, from 0.
 * @param cause What was thrown.
 */
export function toMigrationError(tag: string, index: number, cause: unknown): MigrationError {
  if (cause instanceof MigrationError) return cause;
  const link = findInCauseChain(cause, (candidate) => getSqlState(candidate) !== undefined);
  const driver = readDriverError(link, { showIdentifiers: true });
  const why = driver === undefined ? "" : ` (SQLSTATE ${driver.sqlState}: ${driver.message})`;
  return new MigrationError(`${tag}.sql failed at statement ${index + 1}${why}`, {
    tag,
    statement: index + 1,
    cause,
  });
}

/** How a statement shows in a log: its first words, which hold no data. */
export function summarizeStatement(step: MigrationStep): string {
  const words = step.sql.replace(/^(?:\s|--[^\n]*\n|\/\*[\s\S]*?\*\/)+/, "").split(/[\s(]+/).slice(
    0,
    3,
  );
  return words.filter((word) => /^[A-Za-z]+$/.test(word)).join(" ").toUpperCase();
}
