import type { Sql, TransactionSql } from "postgres";
import type { queryRows } from "./postgres_js_driver.ts";
import type { PostgresPool } from "./postgres_js_pool.ts";
import type { StatementGate } from "./postgres_js_transaction.ts";
import type { DedicatedSession } from "./provider.ts";
import type { Row, SqlSession } from "../../sql/session.ts";
import type { StatementLimit } from "./statement_limit.ts";
import type { StatementRunner } from "./statement_runner.ts";

/** The session's own pool of one connection. */
export interface SessionPool {
  readonly pool: PostgresPool;
  /** Runs a statement. */
  readonly run: StatementRunner;
  /** Runs a transaction. */
  readonly begin: <T>(fn: (tx: TransactionSql, gate: StatementGate) => Promise<T>) => Promise<T>;
}

/** What a session needs to know about its server. */
export interface SessionOptions {
  /** Creates the pool. */
  readonly open: (onEnd: () => void) => SessionPool;
  /** Runs a statement; a second statement in its text is rejected. */
  readonly query: typeof queryRows;
  /** Maximum duration of a statement, which the session may change. */
  readonly limit: StatementLimit;
  /** Adds advice to an error, if there is any. */
  readonly explain: (error: unknown) => unknown;
  /** A session's locks last as long as its connection. */
  readonly keepsSession: boolean;
  /** Finds out whether a pooler in transaction mode is in front of the server. */
  readonly isPooled: ((run: StatementRunner) => Promise<boolean>) | undefined;
}

/** Joins statements by newlines, because a statement may end in a comment. */
function joinStatements(statements: readonly string[]): string {
  return statements.join("\n;\n");
}

/**
 * Opens a dedicated session, for migrations. Functions do not use it: this file is loaded by
 * `import()`, and imports only types so that a bundler wraps nothing else.
 *
 * @param options The server.
 * @returns The session.
 */
export async function openDedicatedSession(
  { open, query, limit, explain, keepsSession, isPooled }: SessionOptions,
): Promise<DedicatedSession> {
  let isKept = keepsSession;
  let hasWorked = false;
  let isLost = false;
  const { pool, run, begin } = open(() => {
    // a connection that never worked held no locks
    if (isKept && hasWorked) isLost = true;
  });
  const isShared = await isPooled?.(run).catch(async (error) => {
    await pool.close();
    throw explain(error);
  });
  if (isShared) {
    isKept = false;
    pool.stopPreparing();
  }

  /** Returns the connection, unless it replaced a lost one. */
  function own<T extends Sql | TransactionSql>(sql: T): T {
    if (!isLost) return sql;
    throw Object.assign(new Error("The session's connection was lost"), {
      code: "CONNECTION_CLOSED",
    });
  }
  async function explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      hasWorked = true;
      return result;
    } catch (error) {
      throw explain(error);
    }
  }
  function toTransactionSession(tx: TransactionSql, gate: StatementGate): SqlSession {
    return {
      async query(text, params = []): Promise<Row[]> {
        const { start, read } = query(text, params);
        return await gate.run(() => start(tx), read);
      },
      async script(statements): Promise<void> {
        await gate.run(() => tx.unsafe(joinStatements(statements)), () => {});
      },
    };
  }
  return {
    async query(text, params = []): Promise<Row[]> {
      const { start, read } = query(text, params);
      return await explained(() => run((sql) => start(own(sql)), read));
    },
    async script(statements): Promise<void> {
      await explained(() => run((sql) => own(sql).unsafe(joinStatements(statements))));
    },
    transaction: (fn) =>
      explained(() => begin((tx, gate) => fn(toTransactionSession(own(tx), gate)))),
    keepsSession: isKept,
    isPooled: isShared,
    limitStatements: (ms) => void (limit.ms = ms),
    close: () => pool.close(),
  };
}
