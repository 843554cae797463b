import type { Sql, TransactionSql } from "postgres";

/** Passes a statement to a connection of postgres.js. */
type Handler = (query: object) => void;

interface QueryOptions {
  readonly prepare: boolean;
  readonly simple: boolean;
}

// shared, because no statement changes its options
const PREPARED: QueryOptions = { prepare: true, simple: false };
const UNPREPARED: QueryOptions = { prepare: false, simple: false };
const NO_ARGUMENTS: readonly never[] = [];

/**
 * A statement whose parameters are texts, in the extended protocol. It has the members of the class
 * `Query` that the connections of postgres.js 3.4.9 use, and differs from it in three ways:
 *
 * - The parameters are set, not passed as arguments. postgres.js asks the server for the types of
 *   arguments before it sends them, because it formats each value by its type: a separate round trip
 *   for each statement that is not prepared yet. Texts need no types, and travel with the text.
 * - It is sent when `then` is called, not one turn later, which takes three more promises.
 * - It is no promise itself. `Query` is a subclass with two closures, and V8 moves all of them to the
 *   old generation, with the rows and the request that they refer to.
 */
export class TextQuery implements PromiseLike<unknown> {
  /** Sends the statement. Can be replaced until then. */
  handler: Handler;
  /** The connection; null before the statement was sent. Set by postgres.js. */
  state: object | null = null;
  /** `values` for rows as lists of values. */
  isRaw: "values" | undefined;
  /** Called by postgres.js with the result. */
  resolve!: (result: unknown) => void;
  /** Called by postgres.js with the error. */
  reject!: (error: unknown) => void;
  /** One text without parts between them. */
  readonly strings: readonly [string];
  readonly args = NO_ARGUMENTS;
  readonly parameters: readonly (string | null)[];
  readonly options: QueryOptions;
  /** The place in the program, which postgres.js adds to the stack of an error. */
  readonly origin = "";
  #isSent = false;
  readonly #answer: Promise<unknown>;

  /** The parameters are those of {@link createTextQuery}. */
  constructor(
    handler: Handler,
    text: string,
    params: readonly (string | null)[],
    prepare: boolean,
  ) {
    this.handler = handler;
    this.strings = [text];
    this.parameters = params;
    this.options = prepare ? PREPARED : UNPREPARED;
    this.#answer = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
  }

  /** Asks for each row as a list of values. */
  values(): this {
    this.isRaw = "values";
    return this;
  }

  /** Sends the statement, and waits for its answer. */
  then<A = unknown, B = never>(
    onAnswer?: ((answer: unknown) => A | PromiseLike<A>) | null,
    onError?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    if (!this.#isSent) {
      this.#isSent = true;
      this.handler(this);
    }
    return this.#answer.then(onAnswer, onError);
  }

  /** Observes the error. Called by transactions of postgres.js while they send the statement. */
  catch(onError: (error: unknown) => unknown): Promise<unknown> {
    return this.#answer.catch(onError);
  }
}

/** The function of each pool and transaction that sends its statements. */
const handlers: WeakMap<Sql | TransactionSql, Handler> = new WeakMap();

function getHandler(sql: Sql | TransactionSql): Handler {
  let handler = handlers.get(sql);
  if (handler === undefined) {
    // a statement that is not awaited is not sent
    handler = (sql.unsafe("") as unknown as { handler: Handler }).handler;
    handlers.set(sql, handler);
  }
  return handler;
}

/**
 * Creates a statement whose parameters are texts. A second statement in the text is rejected by the
 * server.
 *
 * @param sql The pool or the transaction.
 * @param text One statement, with `$1` for the first parameter.
 * @param params A text or null per placeholder.
 * @param prepare Keep the statement for later calls with the same text.
 * @returns The statement, not sent yet.
 */
export function createTextQuery(
  sql: Sql | TransactionSql,
  text: string,
  params: readonly (string | null)[],
  prepare: boolean,
): TextQuery {
  return new TextQuery(getHandler(sql), text, params, prepare);
}
