import type { PendingQuery, Sql, TransactionSql } from "postgres";
import { isReplaced, type PostgresPool } from "./postgres_js_pool.ts";
import { beginSafely, type StatementGate } from "./postgres_js_transaction.ts";
import type { DedicatedSession, Row, SqlSession } from "./provider.ts";

/**
 * What to do when a connection could not be made, and nothing was sent on it.
 *
 * @param error What the server answered.
 * @param attempt The number of the try that failed, from 1.
 * @param elapsedMs Milliseconds since the first try.
 * @returns Milliseconds to wait before the next try, or `undefined` for none.
 */
export type ConnectRetry = (error: unknown, attempt: number, elapsedMs: number) => number | undefined;

/** Statements whose plan is worth keeping; DDL and SET are run once. */
const PREPARABLE = /^\s*(?:select|insert|update|delete|with)\b/i;

/**
 * Texts that one client has the server keep. Each stays in the memory of every connection, and a program that writes
 * values into its SQL would never come to an end.
 */
const MAX_PREPARED = 500;

/** What drizzle calls of postgres.js. */
export interface DrizzleDriver {
  /** Readers and writers of values, which drizzle sets. */
  options: PostgresPool["drizzleOptions"];
  /** Runs a statement. */
  unsafe: (text: string, params?: unknown[], options?: { prepare?: boolean }) => unknown;
  /** Runs a transaction. */
  begin?: (fn: (tx: DrizzleDriver) => unknown) => Promise<unknown>;
  /** Runs a part of a transaction. */
  savepoint?: (fn: (tx: DrizzleDriver) => unknown) => Promise<unknown>;
}

/** Makes a statement, asks for its rows, and waits for them. */
type StatementRunner = (
  start: (sql: Sql) => PendingQuery<Row[]>,
  ask: (query: PendingQuery<Row[]>) => PromiseLike<unknown>,
) => Promise<unknown>;

/** Runs something again when its connection could not be made. */
async function retryUnsent<T>(fn: () => Promise<T>, wasSent: () => boolean, connectRetry: ConnectRetry): Promise<T> {
  const startedAt = performance.now();
  for (let attempt = 1;; attempt++) {
    try {
      return await fn();
    } catch (error) {
      if (wasSent()) throw error;
      const delayMs = isReplaced(error) ? 0 : connectRetry(error, attempt, performance.now() - startedAt);
      if (delayMs === undefined) throw error;
      if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }
}

function runOnPool(pool: PostgresPool, connectRetry: ConnectRetry): StatementRunner {
  return function runStatement(start, ask): Promise<unknown> {
    let query: { state?: unknown } | undefined;
    return retryUnsent(
      () =>
        pool.use((sql) => {
          const pending = start(sql);
          query = pending as { state?: unknown };
          return ask(pending);
        }),
      // a statement that was not sent has no server process yet
      () => query?.state !== null,
      connectRetry,
    );
  };
}

function begin<T>(
  pool: PostgresPool,
  connectRetry: ConnectRetry,
  fn: (tx: TransactionSql, gate: StatementGate) => Promise<T>,
): Promise<T> {
  let hasBegun = false;
  return retryUnsent(
    () =>
      pool.use((sql) =>
        beginSafely(sql, (tx, gate) => {
          hasBegun = true;
          return fn(tx, gate);
        })
      ),
    () => hasBegun,
    connectRetry,
  );
}

/** What drizzle awaits: rows as objects, or as lists. */
class DrizzleStatement {
  readonly #start: (sql: Sql) => PendingQuery<Row[]>;
  readonly #run: StatementRunner;

  constructor(start: (sql: Sql) => PendingQuery<Row[]>, run: StatementRunner) {
    this.#start = start;
    this.#run = run;
  }

  /** Read by `await`, once: only then is it known that objects are wanted. */
  get then(): Promise<unknown>["then"] {
    const rows = this.#run(this.#start, (query) => query);
    return rows.then.bind(rows);
  }

  values(): Promise<unknown> {
    return this.#run(this.#start, (query) => query.values());
  }
}

/**
 * What drizzle works with in place of postgres.js itself: drizzle sends statements without preparing them, in two round
 * trips where a prepared one takes one.
 *
 * @param pool The connections.
 * @param prepare Whether the server may keep plans.
 * @param connectRetry Which refused connections are tried again.
 * @returns The driver.
 */
export function toDrizzleDriver(pool: PostgresPool, prepare: boolean, connectRetry: ConnectRetry): DrizzleDriver {
  const prepared: Set<string> | undefined = prepare ? new Set() : undefined;
  const run = runOnPool(pool, connectRetry);

  function shouldPrepare(text: string, asked: boolean | undefined): boolean {
    if (prepared === undefined) return false;
    if (asked === true || prepared.has(text)) return true;
    if (prepared.size >= MAX_PREPARED || !PREPARABLE.test(text)) return false;
    prepared.add(text);
    return true;
  }
  function inTransaction(tx: TransactionSql, gate: StatementGate): DrizzleDriver {
    return {
      options: pool.drizzleOptions,
      unsafe: (text, params, options) =>
        new DrizzleStatement(
          () => tx.unsafe(text, params as never[], { prepare: shouldPrepare(text, options?.prepare) }),
          (start, ask) => gate.run(() => ask(start(tx as unknown as Sql))),
        ),
      savepoint: (fn) => tx.savepoint((inner) => fn(inTransaction(inner, gate))),
    };
  }
  return {
    options: pool.drizzleOptions,
    unsafe: (text, params, options) =>
      new DrizzleStatement(
        (sql) => sql.unsafe(text, params as never[], { prepare: shouldPrepare(text, options?.prepare) }),
        run,
      ),
    begin: (fn) => begin(pool, connectRetry, async (tx, gate) => await fn(inTransaction(tx, gate))),
  };
}

type Params = readonly (string | number | boolean | null)[];

/** The extended protocol, also without parameters: a stray second statement is refused instead of run. */
function extended(sql: Sql | TransactionSql, text: string, params: Params): PendingQuery<Row[]> {
  return sql.unsafe<Row[]>(text, [...params] as never[], { simple: false } as never);
}

/** A statement may end in a comment. */
function joinStatements(statements: readonly string[]): string {
  return statements.join("\n;\n");
}

/** What is known of a session. */
export interface SessionState {
  /** Whether a statement of it has succeeded. */
  hasWorked: boolean;
  /** Whether its connection, and what it had locked, is gone. */
  isLost: boolean;
}

/**
 * A session for migrations.
 *
 * @param pool A pool of one connection, which the session closes.
 * @param connectRetry Which refused connections are tried again.
 * @param state What is known of the session; updated.
 * @param explain Says of an error what is to be done about it, where that is known.
 * @returns The session.
 */
export function toDedicatedSession(
  pool: PostgresPool,
  connectRetry: ConnectRetry,
  state: SessionState,
  explain: (error: unknown) => unknown,
): Omit<DedicatedSession, "keepsSession"> {
  const run = runOnPool(pool, connectRetry);
  /** Gives the connection, unless it has taken the place of one that was lost, perhaps just now. */
  function own<T extends Sql | TransactionSql>(sql: T): T {
    if (state.isLost) {
      throw Object.assign(new Error("The session's connection was lost"), { code: "CONNECTION_CLOSED" });
    }
    return sql;
  }
  async function explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      state.hasWorked = true;
      return result;
    } catch (error) {
      throw explain(error);
    }
  }
  return {
    async query(text, params = []): Promise<Row[]> {
      const rows = await explained(() => run((sql) => extended(own(sql), text, params), (query) => query));
      return [...rows as Row[]];
    },
    async script(statements): Promise<void> {
      await explained(() => run((sql) => own(sql).unsafe(joinStatements(statements)), (query) => query));
    },
    transaction: (fn) =>
      explained(() => begin(pool, connectRetry, (tx, gate) => fn(toTransactionSession(own(tx), gate)))),
    close: () => pool.close(),
  };
}

function toTransactionSession(tx: TransactionSql, gate: StatementGate): SqlSession {
  return {
    async query(text, params = []): Promise<Row[]> {
      return [...await gate.run(() => extended(tx, text, params))];
    },
    async script(statements): Promise<void> {
      await gate.run(() => tx.unsafe(joinStatements(statements)));
    },
  };
}
