import type { Client, Pool, PoolClient } from "@neondatabase/serverless";
import { runOutsideInvocation } from "../../observability/invocation_context.ts";
import { isSilent } from "../../sql/sqlstate.ts";
import { NO_DEADLINE, onDeadline } from "../session/deadline.ts";
import { type ConnectRetry, retryRefused } from "./connect_retry.ts";
import { IdleConnectionGuard, isAnswered } from "./idle_connection_guard.ts";
import { type StatementLimit, withinLimit } from "./statement_limit.ts";

/** Result of a statement of Neon's driver, as in node-postgres. */
export interface NeonResult<R> {
  /** The columns. */
  fields: { name: string; dataTypeID: number }[];
  /** Rows, as objects or as arrays. */
  rows: R[];
  /** First word of the command tag. */
  command: string;
  /** Rows in the command tag. */
  rowCount: number | null;
}

/** Statement in the form of Neon's driver. */
export interface NeonStatement {
  /** The SQL. */
  text: string;
  /** The parameters. */
  values: unknown[];
  /** The name of a prepared statement. */
  name?: string;
  /** Return rows as arrays. */
  rowMode?: "array";
  /** Parsers of values. */
  types?: object;
}

/** Sends one statement on a connection. */
export type SendStatement = <R>(
  client: Client | PoolClient,
  statement: NeonStatement,
) => Promise<NeonResult<R>>;

type Callback = (error: unknown, result: never) => void;

/** Constructor of Neon's query objects, which its types omit. */
type QueryClass = new (statement: NeonStatement, callback: Callback) => object;

/**
 * Sends statements with the extended protocol, also without parameters, so that a second statement
 * in the text is rejected.
 *
 * @param ClientClass The client of `@neondatabase/serverless`.
 */
export function createSender(ClientClass: typeof Client): SendStatement {
  const { Query } = ClientClass as typeof Client & { Query: QueryClass };
  class ExtendedQuery extends Query {
    requiresPreparation(): boolean {
      return true;
    }
  }
  return function send(client, statement) {
    return new Promise((resolve, reject) => {
      const complete: Callback = (error, result) => error ? reject(error) : resolve(result);
      client.query(new ExtendedQuery(statement, complete) as never);
    });
  };
}

/**
 * Returns an Error for a rejection of Neon's driver. A failed WebSocket rejects with an event,
 * which has neither stack nor class.
 *
 * @param thrown An error or an event.
 */
function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  const { message, error } = thrown as { message?: unknown; error?: unknown };
  const text = typeof message === "string" && message !== ""
    ? message
    : "The WebSocket ended or could not be opened";
  return new Error(text, error instanceof Error ? { cause: error } : {});
}

/**
 * Opens a connection, and retries refused ones.
 *
 * @param connect Opens it.
 * @param connectRetry Retry policy.
 * @throws {Error} Never a WebSocket event.
 */
export function connectClient<T>(
  connect: () => Promise<T>,
  connectRetry: ConnectRetry,
): Promise<T> {
  return retryRefused(async () => {
    try {
      return await runOutsideInvocation(connect);
    } catch (thrown) {
      throw toError(thrown);
    }
  }, connectRetry);
}

/** An open connection. Rejects with Errors only, and closes if a statement is not answered in time. */
export class NeonConnection {
  readonly #client: Client | PoolClient;
  readonly #send: SendStatement;
  readonly #limit: StatementLimit | undefined;
  #answeredMs = 0;

  /**
   * @param client The connection.
   * @param send Sends statements.
   * @param limit Maximum duration of a statement; `undefined` if an invocation's deadline applies.
   */
  constructor(
    client: Client | PoolClient,
    send: SendStatement,
    limit: StatementLimit | undefined,
  ) {
    this.#client = client;
    this.#send = send;
    this.#limit = limit;
  }

  /** Runs one statement. */
  run<R>(statement: NeonStatement): Promise<NeonResult<R>> {
    return this.#await(this.#send<R>(this.#client, statement));
  }

  /** Runs several statements as one message. */
  async script(text: string): Promise<void> {
    await this.#await(this.#client.query(text));
  }

  async #await<T>(answer: Promise<T>): Promise<T> {
    const limit = this.#limit;
    try {
      return await (limit === undefined
        ? answer
        : withinLimit(answer, limit, () => this.#answeredMs));
    } catch (thrown) {
      const error = toError(thrown);
      if (isSilent(error)) void (this.#client as Client).end().catch(() => {});
      throw error;
    } finally {
      this.#answeredMs = performance.now();
    }
  }
}

/** A connection that is taken out of the pool. */
export interface TakenConnection {
  readonly connection: NeonConnection;
  /**
   * Returns the connection to the pool, or closes it.
   *
   * @param isUsable False if a transaction may be open on it.
   */
  release(isUsable: boolean): void;
}

/**
 * The connections of a pool:
 * - one is closed when its invocation reaches the deadline, since a silent network or slow
 *   statement would block later invocations
 * - after a pause they are checked, because Neon ends them when the database suspends
 * - refused ones are retried
 */
export class NeonPool {
  /** Neon's pool. */
  readonly pool: Pool;
  readonly #send: SendStatement;
  readonly #connectRetry: ConnectRetry;
  readonly #limit: StatementLimit;
  readonly #rest = new IdleConnectionGuard(() => this.#dropSilent());

  /**
   * @param pool Neon's pool.
   * @param send Sends statements.
   * @param connectRetry Retry policy for refused connections.
   * @param limit Maximum duration of a statement outside of invocations.
   */
  constructor(
    pool: Pool,
    send: SendStatement,
    connectRetry: ConnectRetry,
    limit: StatementLimit,
  ) {
    this.pool = pool;
    this.#send = send;
    this.#connectRetry = connectRetry;
    this.#limit = limit;
  }

  /** Takes a connection, and opens one if there is none. */
  async take(): Promise<TakenConnection> {
    const { pool } = this;
    const waking = pool.idleCount === pool.totalCount ? this.#rest.wake() : undefined;
    if (waking !== undefined) await waking;
    const client = await connectClient(() => pool.connect(), this.#connectRetry);
    let isTaken = true;
    let forget = NO_DEADLINE;
    const release = (isUsable: boolean): void => {
      // a second release would make the pool throw
      if (!isTaken) return;
      isTaken = false;
      forget();
      this.#rest.used();
      client.removeListener("end", drop);
      client.release(!isUsable);
    };
    const drop = (): void => release(false);
    client.once("end", drop);
    forget = onDeadline(drop);
    const limit = forget === NO_DEADLINE ? this.#limit : undefined;
    return { connection: new NeonConnection(client, this.#send, limit), release };
  }

  async #dropSilent(): Promise<void> {
    let isSilent = false;
    while (this.pool.idleCount > 0) {
      const client = await this.pool.connect();
      isSilent ||= !await isAnswered(client.query("select 1"));
      client.release(isSilent);
      if (!isSilent) return;
    }
  }
}
