import type { Client, Pool, PoolClient } from "@neondatabase/serverless";
import {
  currentInvocation,
  resumeInvocation,
  runOutsideInvocation,
} from "../../observability/invocation_context.ts";
import { NO_DEADLINE, onDeadline } from "../session/deadline.ts";
import type { ConnectRetry } from "./postgres_js_driver.ts";
import { IdleConnectionGuard, isAnswered } from "./idle_connection_guard.ts";
import { type StatementLimit, StatementWatch } from "./statement_limit.ts";

/**
 * Returns an Error for a rejection of Neon's driver. A failed WebSocket rejects with an event,
 * which has neither stack nor class.
 *
 * @param thrown An error or an event.
 */
export function toError(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  const { message, error } = thrown as { message?: unknown; error?: unknown };
  const text = typeof message === "string" && message !== ""
    ? message
    : "The WebSocket ended or could not be opened";
  return new Error(text, error instanceof Error ? { cause: error } : {});
}

/**
 * Rejects failed statements with an Error instead of a WebSocket event, which a log could not
 * describe.
 *
 * @param target A pool or a connection.
 */
export function rejectWithErrors(target: Pool | Client): void {
  const query = target.query.bind(target) as (...args: unknown[]) => unknown;
  target.query = function queryWithErrors(...args: unknown[]): unknown {
    const result = query(...args);
    return result instanceof Promise
      ? result.catch((thrown) => Promise.reject(toError(thrown)))
      : result;
  } as Pool["query"];
}

type Done = (...result: unknown[]) => void;

/** Connections without a statement limit, because an invocation with a deadline uses them. */
const unlimited: WeakSet<object> = new WeakSet();

/**
 * Rejects statements that the database does not answer in time, and closes their connection.
 *
 * @param client A connection; changed in place.
 * @param limit Maximum duration of a statement.
 */
export function limitStatements(client: Client, limit: StatementLimit): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  const failing: Set<(error: Error) => void> = new Set();
  let silence: Error | undefined;
  const watch = new StatementWatch(limit, (error) => {
    silence = error;
    for (const fail of [...failing]) fail(error);
    void client.end().catch(() => {});
  });
  client.once("end", () => watch.close());

  /**
   * Registers a statement and returns the callback to use instead of `done`; `undefined` if the
   * connection is closed.
   */
  function begin(done: Done): Done | undefined {
    if (silence !== undefined) return void done(silence);
    function complete(...result: unknown[]): void {
      if (!failing.delete(complete)) return;
      watch.ended();
      done(...result);
    }
    failing.add(complete);
    watch.sent();
    return complete;
  }
  client.query = function queryWithinLimit(...args: unknown[]): unknown {
    if (unlimited.has(client)) return query(...args);
    const [first] = args as [Submittable | undefined];
    if (typeof first?.submit === "function") {
      const complete = begin(first.callback);
      if (complete !== undefined) query(Object.assign(first, { callback: complete }));
      return first;
    }
    const done = args.at(-1);
    if (typeof done === "function") {
      const complete = begin(done as Done);
      return complete && query(...args.slice(0, -1), complete);
    }
    return new Promise((resolve, reject) => {
      const complete = begin((error, result) => error ? reject(error) : resolve(result));
      if (complete !== undefined) query(...args, complete);
    });
  } as Client["query"];
}

/** Statement object of node-postgres, with its own callback. */
interface Submittable {
  submit: unknown;
  callback: Done;
}

type Taken = (
  error: Error | undefined,
  client: PoolClient | undefined,
  release: (error?: unknown) => void,
) => void;

/**
 * Guards a pool:
 * - removes a connection when its invocation reaches the deadline, since a silent network or slow
 *   statement would block later invocations
 * - removes a connection when it ends: drizzle 0.45.4 does not release a connection whose BEGIN
 *   failed
 * - checks connections after a pause, because Neon ends them when the database suspends
 * - retries refused connections
 * - rejects only with Errors
 *
 * @param pool Changed in place.
 * @param connectRetry Retry policy for refused connections.
 * @param limit Maximum duration of a statement outside of invocations.
 */
export function watchPool(pool: Pool, connectRetry: ConnectRetry, limit: StatementLimit): void {
  rejectWithErrors(pool);
  pool.on("connect", (client: Client) => {
    limitStatements(client, limit);
    rejectWithErrors(client);
  });
  const connect = pool.connect.bind(pool) as (taken: Taken) => void;
  const rest = new IdleConnectionGuard(dropSilent);

  async function dropSilent(): Promise<void> {
    let isSilent = false;
    while (pool.idleCount > 0) {
      const client = await (connect as () => Promise<PoolClient>)();
      isSilent ||= !await isAnswered(client.query("select 1"));
      client.release(isSilent);
      if (!isSilent) return;
    }
  }
  function connectWatched(taken: Taken): void {
    const invocation = currentInvocation();
    const startedAt = performance.now();
    let attempt = 1;
    let cut = (): void => {};
    const forget = onDeadline(() => cut());
    tryOnce();

    function tryOnce(): void {
      runOutsideInvocation(() => connect(watch));
    }
    function delayAfter(error: unknown): number | undefined {
      const ask = () => connectRetry(error, attempt++, performance.now() - startedAt);
      return invocation === undefined ? ask() : resumeInvocation(invocation, ask);
    }
    function refuse(error: Error): void {
      let failure = error;
      try {
        const delayMs = delayAfter(error);
        if (delayMs !== undefined) return void setTimeout(tryOnce, delayMs);
      } catch (thrown) {
        failure = thrown as Error;
      }
      forget();
      taken(failure, undefined, () => {});
    }
    function watch(...[error, client, release]: Parameters<Taken>): void {
      if (client === undefined) return refuse(toError(error));
      let isHeld = true;
      // a second release would make the pool throw
      function releaseOnce(error?: unknown): void {
        if (!isHeld) return;
        isHeld = false;
        forget();
        rest.used();
        client?.removeListener("end", cut);
        release(error);
      }
      cut = () => releaseOnce(true);
      if (forget === NO_DEADLINE) unlimited.delete(client);
      else unlimited.add(client);
      client.once("end", cut);
      client.release = releaseOnce;
      taken(error, client, releaseOnce);
    }
  }
  function connectAwake(taken: Taken): void {
    const waking = pool.idleCount === pool.totalCount ? rest.wake() : undefined;
    if (waking === undefined) connectWatched(taken);
    else waking.then(() => connectWatched(taken), (error) => taken(error, undefined, () => {}));
  }
  pool.connect = function connectEither(taken?: Taken): Promise<PoolClient> | void {
    if (taken !== undefined) return connectAwake(taken);
    return new Promise((resolve, reject) =>
      connectAwake((error, client) => client === undefined ? reject(error) : resolve(client))
    );
  } as Pool["connect"];
}
