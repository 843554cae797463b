import type { PendingQuery, Sql, TransactionSql } from "postgres";
import { loadOnce } from "../../core/async/single_flight.ts";
import { type ConnectRetry, retryRefused } from "./connect_retry.ts";
import { isConnectFailure, isReplaced, type PostgresPool } from "./postgres_js_pool.ts";
import type {
  SqlDriver,
  Statement,
  StatementResult,
  TransactionDriver,
} from "../session/driver.ts";
import { toQueryResult } from "../session/decode_rows.ts";
import { toParameterText } from "../session/parameter_text.ts";
import { beginSafely, type StatementGate } from "./postgres_js_transaction.ts";
import type { Row } from "../../sql/session.ts";
import { isStalePlan } from "../../sql/sqlstate.ts";
import { type StatementLimit, StatementWatch, withinLimit } from "./statement_limit.ts";

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
 * @param wasSent Returns true if the work may have been sent, after which it is not sent again.
 */
function runUnlessRefused<T>(
  pool: PostgresPool,
  connectRetry: ConnectRetry,
  send: (sql: Sql, hasDeadline: boolean) => PromiseLike<T>,
  wasSent: (error: unknown) => boolean,
): Promise<T> {
  return retryRefused(() => pool.use(send), (error, attempt, elapsedMs) => {
    if (wasSent(error)) throw isReplaced(error) ? createLoss(error) : error;
    return isReplaced(error) ? 0 : connectRetry(error, attempt, elapsedMs);
  });
}

/** Creates the error of a statement that may have been sent on a connection that ended. */
function createLoss(cause: unknown): Error {
  return Object.assign(new Error("The connection was lost", { cause }), {
    code: "CONNECTION_CLOSED",
  });
}

/** Runs a statement, which is sent when it is awaited. */
export type StatementRunner = <T>(start: (sql: Sql) => PromiseLike<T>) => Promise<T>;

/** Creates a runner of statements, which retries connections that could not be opened. */
export function runOnPool(
  pool: PostgresPool,
  connectRetry: ConnectRetry,
  limit: StatementLimit,
): StatementRunner {
  const underWay = new UnderWay();
  return function runStatement(start) {
    return runUnlessRefused(
      pool,
      connectRetry,
      (sql, hasDeadline) => {
        const pending = start(sql);
        if (hasDeadline) return pending;
        const sent = underWay.add();
        return withinLimit(pending, limit, () => sent.answeredMs).finally(() =>
          underWay.remove(sent)
        );
      },
      wasStatementSent,
    );
  };
}

/**
 * Checks whether a statement may have been sent on the connection that failed. A server refuses a
 * connection with the severity FATAL before it reads statements; the retry policy selects the errors
 * that occur only then.
 */
function wasStatementSent(error: unknown): boolean {
  const { severity, severity_local } = error as Record<string, unknown>;
  return !isReplaced(error) && !isConnectFailure(error) && (severity ?? severity_local) !== "FATAL";
}

/** A statement that waits for its answer. */
interface Waiting {
  /** Time of the last answer to a statement that was sent before this one. */
  answeredMs: number;
}

/**
 * The statements of a pool that wait for their answers, in the order in which they were sent.
 * postgres.js pipelines statements on a connection, so that a statement waits for others. Only those
 * that were sent before it can be among them.
 */
class UnderWay {
  readonly #waiting: Set<Waiting> = new Set();

  /** Adds a statement that is sent now. */
  add(): Waiting {
    const sent: Waiting = { answeredMs: 0 };
    this.#waiting.add(sent);
    return sent;
  }

  /** Removes a statement that was answered. */
  remove(answered: Waiting): void {
    const answeredMs = performance.now();
    let isLater = false;
    for (const one of this.#waiting) {
      if (isLater) one.answeredMs = answeredMs;
      else isLater = one === answered;
    }
    this.#waiting.delete(answered);
  }
}

/** Runs a transaction on a pool. */
export function begin<T>(
  pool: PostgresPool,
  connectRetry: ConnectRetry,
  limit: StatementLimit,
  fn: (tx: TransactionSql, gate: StatementGate) => Promise<T>,
  modes?: string,
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
        modes,
      ),
    () => hasBegun,
  );
}

/** The server of a pool, as its first statement finds it. */
export class ServerState {
  /** True if statements are prepared. Final once the first statement was answered. */
  prepares: boolean;
  /** True once the first statement was answered. */
  isKnown = false;
  /**
   * Waits for the answer to the first statement. Sends it again if it failed.
   *
   * @throws The error of the server or the network.
   */
  readonly check: () => Promise<void>;

  /**
   * @param prepares Statements are prepared unless the first statement finds a pooler.
   * @param ask Runs the first statement, and reads its answer.
   */
  constructor(prepares: boolean, ask: () => Promise<void>) {
    this.prepares = prepares;
    this.check = loadOnce(async () => {
      await ask();
      this.isKnown = true;
    });
  }
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
  function start(sql: Sql | TransactionSql, statement: Statement): PendingQuery<never> {
    const params = statement.params.map(toParameterText);
    return createTextQuery(sql, statement.text, params, shouldPrepare(statement))
      .values() as never;
  }
  function inTransaction(tx: TransactionSql, gate: StatementGate): TransactionDriver {
    return {
      pipelines: true,
      async run(statement) {
        return toResult(await gate.run(() => start(tx, statement)));
      },
      savepoint(work) {
        return tx.savepoint((inner) => work(inTransaction(inner, gate))) as Promise<never>;
      },
    };
  }
  return {
    client: pool,
    async run(statement): Promise<StatementResult> {
      if (!server.isKnown) await server.check();
      return toResult(await runOn((sql) => start(sql, statement)));
    },
    async transaction<T>(
      work: (tx: TransactionDriver) => Promise<T>,
      modes?: string,
    ): Promise<T> {
      if (!server.isKnown) await server.check();
      const first = new FirstStatement(work);
      const run = (tx: TransactionSql, gate: StatementGate) => first.run(inTransaction(tx, gate));
      const beginOnce = () => begin(pool, connectRetry, limit, run, modes);
      return await beginOnce().catch((error) => {
        if (!first.isStale) throw error;
        return beginOnce().catch((next) => first.fail(next));
      });
    },
  };
}

/**
 * The work of a transaction. If the plan of its first statement is stale, the statement waits for
 * another transaction, in which it is sent again: nothing has happened in the first one. Outside of
 * transactions postgres.js does the same.
 */
class FirstStatement<T> {
  /** True if the work continues in the next transaction. */
  isStale = false;
  readonly #work: (tx: TransactionDriver) => Promise<T>;
  #driver: TransactionDriver | undefined;
  #started = 0;
  #result: Promise<T> | undefined;
  #resend: (() => void) | undefined;
  #reject: (error: unknown) => void = () => {};
  /** Resolved once the first statement was sent again. */
  #restarted: Promise<void> | undefined;
  #stop: (error: unknown) => void = () => {};

  constructor(work: (tx: TransactionDriver) => Promise<T>) {
    this.#work = work;
  }

  /** Runs the work, or continues it, in a transaction that has begun. */
  run(driver: TransactionDriver): Promise<T> {
    this.#driver = driver;
    if (this.#resend !== undefined) {
      this.#resend();
      return this.#result!;
    }
    return new Promise((resolve, reject) => {
      this.#stop = reject;
      this.#result = this.#work({
        pipelines: driver.pipelines,
        run: (statement) => this.#send(statement),
        savepoint: async (work) => {
          this.#started++;
          if (this.#restarted !== undefined) await this.#restarted;
          return await this.#driver!.savepoint(work);
        },
      });
      this.#result.then(resolve, reject);
    });
  }

  /** Rejects the first statement, if it still waits for the next transaction. */
  fail(error: unknown): never {
    this.#reject(error);
    throw error;
  }

  async #send(statement: Statement): Promise<StatementResult> {
    const isFirst = this.#started++ === 0;
    if (this.#restarted !== undefined) await this.#restarted;
    try {
      return await this.#driver!.run(statement);
    } catch (error) {
      if (!isFirst || this.#started > 1 || !isStalePlan(error)) throw error;
      this.isStale = true;
      let continueOthers = (): void => {};
      this.#restarted = new Promise((resolve) => continueOthers = resolve);
      return await new Promise((resolve, reject) => {
        this.#reject = reject;
        this.#resend = () => {
          this.#driver!.run(statement).then(resolve, reject);
          continueOthers();
        };
        this.#stop(error);
      });
    }
  }
}

/**
 * Creates a statement that is not prepared.
 *
 * @param sql The pool, or the transaction.
 * @param text One statement, with `$1` for the first parameter.
 * @param params The parameters.
 */
export function createRowQuery(
  sql: Sql | TransactionSql,
  text: string,
  params: readonly unknown[] = [],
): PromiseLike<unknown> {
  return createTextQuery(sql, text, params.map(toParameterText), false).values();
}

/** Returns the rows of {@link createRowQuery}, which have the value types of all providers. */
export function readRows(answer: unknown): Row[] {
  return toQueryResult(toResult(answer)).rows;
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
  const space = command.indexOf(" ");
  return {
    columns,
    rows: result,
    command: space === -1 ? command : command.slice(0, space),
    rowCount: count,
  };
}

/**
 * Creates a statement whose parameters are texts, in the extended protocol. A second statement in the
 * text is rejected by the server. The statement is sent when it is awaited.
 *
 * @param sql The pool, whose types must pass texts unchanged, or the transaction.
 * @param text One statement, with `$1` for the first parameter.
 * @param params A text or null per placeholder.
 * @param prepare Keep the statement for later calls with the same text.
 * @returns The statement.
 */
export function createTextQuery(
  sql: Sql | TransactionSql,
  text: string,
  params: readonly (string | null)[],
  prepare: boolean,
): PendingQuery<Row[]> {
  return sql.unsafe(text, params as never, { prepare, ...EXTENDED });
}

/**
 * Without this option, postgres.js sends a text without parameters in the simple protocol, which runs
 * several statements. The option is missing in the types of postgres.js 3.4.9. If a later version
 * ignores it, the test "createTextQuery() rejects" fails.
 */
const EXTENDED = { simple: false };
