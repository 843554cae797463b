import { type BackendSession, queryRows } from "./backend.ts";
import type { ServerContext } from "./server_context.ts";
import { shadowTables } from "./shadow_tables.ts";
import { conflictError, type ConflictMarker, SqlError } from "./sql_error.ts";
import type { Statement } from "./statements.ts";

/** State of a transaction that may conflict with others. */
export interface ConflictContext {
  readonly server: ServerContext;
  readonly backend: BackendSession;
  /** True in autocommit. */
  readonly isImplicit: boolean;
  /** Names that refer to copies. */
  readonly shadowed: Set<string>;
  /** Called when the transaction has to lose at its COMMIT. */
  readonly onConflict: () => void;
}

/**
 * Runs work that may conflict with another transaction. In autocommit the other transaction loses,
 * because this one commits first; in a transaction this one continues on copies and loses at its
 * COMMIT.
 *
 * @param context State of the transaction.
 * @param marker The code of a conflict.
 * @param work The work.
 * @param statement The statement, if it can continue on copies.
 */
export async function runWithConflicts<T>(
  context: ConflictContext,
  marker: ConflictMarker,
  work: () => Promise<T>,
  statement?: Statement,
): Promise<T> {
  const { server, backend, isImplicit } = context;
  if (!server.isConcurrent) return await work();
  if (isImplicit) {
    const stopWatching = server.watchBlocked(backend.processId, marker);
    try {
      return await work();
    } catch (error) {
      throw isConflict(error) ? conflictError(marker) : error;
    } finally {
      stopWatching();
    }
  }
  await queryRows(backend, "SAVEPOINT distsql");
  try {
    const result = await work();
    await queryRows(backend, "RELEASE SAVEPOINT distsql");
    return result;
  } catch (error) {
    if (!isConflict(error)) throw error;
    await queryRows(backend, "ROLLBACK TO SAVEPOINT distsql");
    if (!statement) throw conflictError(marker);
    return await runOverCopies(context, statement, work);
  }
}

async function runOverCopies<T>(
  { backend, shadowed, onConflict }: ConflictContext,
  statement: Statement,
  work: () => Promise<T>,
): Promise<T> {
  try {
    if (!await shadowTables((sql) => queryRows(backend, sql), statement, shadowed)) {
      throw conflictError("OC000");
    }
    onConflict();
    return await work();
  } catch (error) {
    throw isConflict(error) || (error instanceof SqlError && error.sqlstate === "42501")
      ? conflictError("OC000")
      : error;
  }
}

/**
 * Checks for serialization failures, unavailable locks and deadlocks, all of which are conflicts on
 * the provider.
 */
function isConflict(error: unknown): boolean {
  return error instanceof SqlError && ["40001", "55P03", "40P01"].includes(error.sqlstate);
}
