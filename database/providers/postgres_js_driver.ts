import type { Sql, TransactionSql } from "postgres";
import { isReplaced, type PostgresPool } from "./postgres_js_pool.ts";
import type {
  SqlDriver,
  Statement,
  StatementResult,
  TransactionDriver,
} from "../session/driver.ts";
import { toParameterText } from "../session/parameter_text.ts";
import { beginSafely, type StatementGate } from "./postgres_js_transaction.ts";
import type { StartCheck } from "./start_check.ts";
import type { StatementRunner } from "./statement_runner.ts";
import { createTextQuery, type TextQuery } from "./text_query.ts";
import { type StatementLimit, StatementWatch, withinLimit } from "./statement_limit.ts";

/**
 * Retry policy for a connection that could not be opened; no statement was sent on it.
 *
 * @param error The server's answer.
 * @param attempt Number of the failed attempt, from 1.
 * @param elapsedMs Milliseconds since the first attempt.
 * @returns Milliseconds to wait before the next attempt, or `undefined` to give up.
 */
export type ConnectRetry = (
  error: unknown,
  attempt: number,
  elapsedMs: number,
) => number | undefined;

/** Statements whose plan is worth keeping; DDL and SET run once. */
const PREPARABLE = /^\s*(?:select|insert|update|delete|with)\b/i;

/**
 * Maximum number of prepared texts per client. Each uses memory in every connection, and a program
 * that writes values into its SQL would add texts without end.
 */
const MAX_PREPARED = 500;

/**
 * Runs work, and retries it if its connection could not be opened.
 *
 * @param pool The connections.
 * @param connectRetry Retry policy.
 * @param send Runs the work; gets true if an invocation's deadline applies.
 * @param wasSent Returns true once the work may have been sent, after which it is not sent again.
 * @param read Reads the result.
 */
function runUnlessRefused<T, R>(
  pool: PostgresPool,
  connectRetry: ConnectRetry,
  send: (sql: Sql, hasDeadline: boolean) => PromiseLike<T>,
  wasSent: () => boolean,
  read: (value: T) => R,
): Promise<R> {
  const startedAt = performance.now();
  return pool.use(
    send,
    read,
    (error) =>
      retryUnsent(
        error,
        () => pool.use(send, read, rethrow),
        wasSent,
        (...failure) => connectRetry(...failure, performance.now() - startedAt),
      ),
  );
}

function rethrow(error: unknown): never {
  throw error;
}

async function retryUnsent<R>(
  failure: unknown,
  run: () => Promise<R>,
  wasSent: () => boolean,
  getDelayMs: (error: unknown, attempt: number) => number | undefined,
): Promise<R> {
  let error = failure;
  for (let attempt = 1;; attempt++) {
    if (wasSent()) throw isReplaced(error) ? createLoss(error) : error;
    const delayMs = isReplaced(error) ? 0 : getDelayMs(error, attempt);
    if (delayMs === undefined) throw error;
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    try {
      return await run();
    } catch (next) {
      error = next;
    }
  }
}

/** Creates the error of a statement that may have been sent on a connection that ended. */
function createLoss(cause: unknown): Error {
  return Object.assign(new Error("The connection was lost", { cause }), {
    code: "CONNECTION_CLOSED",
  });
}

/** Creates a runner of statements, which retries connections that could not be opened. */
export function runOnPool(
  pool: PostgresPool,
  connectRetry: ConnectRetry,
  limit: StatementLimit,
): StatementRunner {
  const answers = new LastAnswers();
  return function runStatement(start, read = asItIs) {
    let query: { state?: object | null } | undefined;
    return runUnlessRefused(
      pool,
      connectRetry,
      (sql, hasDeadline) => {
        const pending = start(sql);
        const sent = query = pending as { state?: object | null };
        if (hasDeadline) return pending;
        return withinLimit(pending, limit, () => answers.before(sent)).finally(() =>
          answers.note(sent)
        );
      },
      // a statement without a server process was not sent
      () => query?.state !== null,
      read,
    );
  };
}

function asItIs<R>(answer: unknown): R {
  return answer as R;
}

/** Times of the last answer per connection. postgres.js pipelines statements on a connection. */
class LastAnswers {
  readonly #byConnection: WeakMap<object, number> = new WeakMap();

  note({ state }: { state?: object | null }): void {
    if (state) this.#byConnection.set(state, performance.now());
  }

  /**
   * Returns when the statements before this one were answered; the current time while it waits for
   * a connection.
   */
  before({ state }: { state?: object | null }): number {
    return state ? this.#byConnection.get(state) ?? 0 : performance.now();
  }
}

/** Runs a transaction on a pool. */
export function begin<T>(
  pool: PostgresPool,
  connectRetry: ConnectRetry,
  limit: StatementLimit,
  fn: (tx: TransactionSql, gate: StatementGate) => Promise<T>,
): Promise<T> {
  let hasBegun = false;
  // BEGIN may wait for statements that hold all connections
  const lastAnswerMs = (): number => hasBegun ? 0 : pool.lastEndMs;
  return runUnlessRefused(
    pool,
    connectRetry,
    (sql, hasDeadline) =>
      beginSafely(
        sql,
        (tx, gate) => {
          hasBegun = true;
          return fn(tx, gate);
        },
        hasDeadline ? undefined : (onSilent) => new StatementWatch(limit, onSilent, lastAnswerMs),
      ),
    () => hasBegun,
    asItIs<T>,
  );
}

/** The server of a pool, as its first statement finds it. */
export interface ServerState {
  /** Statements may be prepared: false while it is not known. */
  prepares: boolean;
  /** The first statement of the pool. */
  readonly check: StartCheck;
}

/**
 * Creates a driver for a pool. Prepares statements where possible, so that the server parses and
 * plans them once.
 *
 * @param pool The connections; their values must be texts.
 * @param server The state of the server; may change until its check is done.
 * @param connectRetry Retry policy for refused connections.
 * @param limit Maximum duration of a statement outside of invocations.
 * @returns The driver.
 */
export function toSqlDriver(
  pool: PostgresPool,
  server: ServerState,
  connectRetry: ConnectRetry,
  limit: StatementLimit,
): SqlDriver {
  const { check } = server;
  const prepared: Set<string> = new Set();
  const runOn = runOnPool(pool, connectRetry, limit);

  function shouldPrepare({ text, params, name }: Statement): boolean {
    if (!server.prepares) return false;
    if (name !== undefined || prepared.has(text)) return true;
    if (params.length === 0 || prepared.size >= MAX_PREPARED || !PREPARABLE.test(text)) {
      return false;
    }
    prepared.add(text);
    return true;
  }
  function start(sql: Sql | TransactionSql, statement: Statement): TextQuery {
    const params = statement.params.map(toParameterText);
    return createTextQuery(sql, statement.text, params, shouldPrepare(statement)).values();
  }
  function inTransaction(tx: TransactionSql, gate: StatementGate): TransactionDriver {
    return {
      pipelines: true,
      run: (statement) => gate.run(() => start(tx, statement), toResult),
      savepoint: (work) =>
        tx.savepoint((inner) => work(inTransaction(inner, gate))) as Promise<never>,
    };
  }
  function run(statement: Statement): Promise<StatementResult> {
    return runOn((sql) => start(sql, statement), toResult);
  }
  /** Runs a statement on the connection of the first one, before the answer to that. */
  async function follow(statement: Statement): Promise<StatementResult> {
    await check.open();
    const { answer } = check;
    try {
      return await runOn((sql) => check.follow(sql, start(sql, statement)), toResult);
    } catch (error) {
      // the error of the first statement explains the loss of its connection
      await answer;
      throw error;
    }
  }
  return {
    client: pool,
    run: (statement) => check.isDone ? run(statement) : follow(statement),
    async transaction<T>(work: (tx: TransactionDriver) => Promise<T>): Promise<T> {
      // postgres.js prepares COMMIT
      if (!check.isDone) await check.finish();
      return await begin(pool, connectRetry, limit, (tx, gate) => work(inTransaction(tx, gate)));
    },
  };
}

/** Rows with the metadata of postgres.js. */
type PostgresJsResult = (string | null)[][] & {
  readonly columns?: { name: string; type: number }[];
  readonly command?: string;
  readonly count: number | null;
};

function toResult(answer: unknown): StatementResult {
  const result = answer as PostgresJsResult;
  const { columns = [], command = "", count } = result;
  // Taken out of the result: statements of postgres.js reach the old generation, and would keep
  // their rows in memory until the next full collection. One by one, because methods of an array
  // that create another are slow on a class of arrays.
  const rows: StatementResult["rows"] = [];
  for (let i = 0; i < result.length; i++) rows.push(result[i]);
  result.length = 0;
  const space = command.indexOf(" ");
  return {
    columns,
    rows,
    command: space === -1 ? command : command.slice(0, space),
    rowCount: count,
  };
}
