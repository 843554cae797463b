import type { Sql } from "postgres";
import type { StatementRunner } from "./statement_runner.ts";
import type { TextQuery } from "./text_query.ts";

/** Connection of postgres.js 3.4.9, which hands it to the option `onexecute`. */
interface PostgresConnection {
  execute(query: object): unknown;
}

/** Statement of postgres.js 3.4.9, with the option that reports its connection. */
interface RoutedQuery {
  readonly options: { onexecute?: (connection: PostgresConnection) => void };
}

/**
 * The first statement of a pool, which checks that the database answers and finds poolers. The
 * statement that follows does not wait for its answer: it is sent on the same connection as soon as
 * it is open. Until the answer, statements must not rely on it.
 */
export class StartCheck {
  readonly #ask: (run: StatementRunner) => Promise<void>;
  readonly #run: StatementRunner;
  readonly #asked: WeakMap<Sql, PostgresConnection> = new WeakMap();
  #sent: Promise<void> | undefined;
  /** Settles with the answer to the statement that was sent last. Read only. */
  answer: Promise<void> | undefined;
  /** True once the first statement was answered. Read only. */
  isDone = false;

  /**
   * @param run Runs a statement on the pool.
   * @param ask Runs the first statement, and reads its answer.
   */
  constructor(run: StatementRunner, ask: (run: StatementRunner) => Promise<void>) {
    this.#run = run;
    this.#ask = ask;
  }

  /**
   * Waits until a connection is open and the first statement is sent. Sends it again if it failed.
   *
   * @throws The error of the server or the network.
   */
  open(): Promise<void> {
    return this.#sent ??= new Promise((resolve, reject) => {
      this.answer = this.#ask((start, read) =>
        this.#run((sql) => this.#announce(sql, start(sql), resolve), read)
      );
      this.answer.then(() => {
        this.isDone = true;
        resolve();
      }, (error) => {
        this.#sent = undefined;
        reject(error);
      });
    });
  }

  /**
   * Waits for the answer.
   *
   * @throws The error of the server or the network.
   */
  async finish(): Promise<void> {
    await this.open();
    await this.answer;
  }

  /**
   * Sends a statement on the connection of the first one while that is not answered. postgres.js
   * would wait for the answer, or open another connection.
   *
   * @param sql The pool.
   * @param query The statement, not sent yet.
   * @returns The statement.
   */
  follow(sql: Sql, query: TextQuery): TextQuery {
    const { handler } = query;
    query.handler = (self) => {
      const connection = this.#asked.get(sql);
      if (connection === undefined) return handler(self);
      // only one: others that are sent at once get connections of their own
      this.#asked.delete(sql);
      connection.execute(self);
    };
    return query;
  }

  #announce(
    sql: Sql,
    query: PromiseLike<unknown>,
    onSent: () => void,
  ): PromiseLike<unknown> {
    (query as unknown as RoutedQuery).options.onexecute = (connection) => {
      this.#asked.set(sql, connection);
      onSent();
    };
    const forget = (): void => void this.#asked.delete(sql);
    query.then(forget, forget);
    return query;
  }
}
