import { type BackendSession, queryRows } from "./backend.ts";
import type { ServerContext } from "./server_context.ts";
import { conflictError, type ConflictMarker, SqlError } from "./sql_error.ts";
import type { Query } from "./jobs.ts";
import type { Statement } from "./syntax/statements.ts";
import { child, findNodes, getText, type SyntaxNode } from "./syntax/syntax_tree.ts";
import { quoteLiteral, quoteName } from "../../sql/quote.ts";

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

/** Larger tables are not copied; the statement then conflicts immediately. */
const MAX_COPIED_BYTES = 32 * 1024 * 1024;

/** Returns the tables that a statement writes, or whose rows it locks. */
function touchedTables(statement: Statement): readonly SyntaxNode[] {
  if (statement.kind === "lock") return findNodes(statement.node, "RangeVar");
  const writes = ["InsertStmt", "UpdateStmt", "DeleteStmt"].flatMap((type) =>
    findNodes(statement.node, type)
  );
  const all = ["InsertStmt", "UpdateStmt", "DeleteStmt"].includes(statement.type)
    ? [statement.node, ...writes]
    : writes;
  return all.map((node) => child(node, "relation"));
}

/**
 * Creates temporary copies that shadow the tables of a statement, so that it can run without
 * waiting for rows that another transaction has changed.
 *
 * The provider lets both writers' statements succeed and fails one COMMIT; PostgreSQL lets the
 * second writer wait. In the copies the second writer sees its own snapshot and gets its normal
 * result; its transaction can no longer commit.
 *
 * @param query Runs SQL in the transaction.
 * @param statement The statement that met a lock.
 * @param shadowed Names that already have a copy; updated.
 * @returns True if every table has a copy now: qualified names, views and large tables get none.
 */
async function shadowTables(
  query: Query,
  statement: Statement,
  shadowed: Set<string>,
): Promise<boolean> {
  for (const table of touchedTables(statement)) {
    const name = getText(table, "relname");
    if (table.schemaname) return false;
    if (shadowed.has(name)) continue;
    const quoted = quoteName(name);
    const [row] = await query(
      `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class c JOIN ` +
        `pg_namespace n ON n.oid = c.relnamespace ` +
        `WHERE c.oid = to_regclass(${quoteLiteral(quoted)}) AND c.relkind = 'r' ` +
        `AND pg_table_size(c.oid) <= ${MAX_COPIED_BYTES}`,
    );
    if (!row) return false;
    await query(
      `CREATE TEMP TABLE ${quoted} (LIKE ${row[0]} INCLUDING ALL EXCLUDING GENERATED) ` +
        "ON COMMIT DROP; " +
        `INSERT INTO pg_temp.${quoted} OVERRIDING SYSTEM VALUE SELECT * FROM ${row[0]}`,
    );
    shadowed.add(name);
  }
  return true;
}
