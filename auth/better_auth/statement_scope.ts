import type { AsyncLocalStorage } from "node:async_hooks";
import { builtinModule } from "../../env/builtin_module.ts";
import type { JobClient } from "../../jobs/enqueue.ts";

/** What a request of the auth routes has sent. */
interface Counter {
  /** Statements to the database. */
  statements: number;
  /** Mails to the outbox. */
  mails: number;
  /** Whether a statement has failed. */
  hasFailed: boolean;
}

/** The running request of the auth routes. */
interface StatementScope {
  readonly counter: Counter;
  /** Client of better-auth's transaction, while one is open. */
  readonly transaction?: JobClient;
}

/** Storage of the current scope; created by the first one. */
let storage: AsyncLocalStorage<StatementScope> | undefined;

function runInScope<T>(scope: StatementScope, run: () => T): T {
  const hooks = builtinModule("node:async_hooks");
  if (storage === undefined && hooks !== undefined) storage = new hooks.AsyncLocalStorage();
  return storage === undefined ? run() : storage.run(scope, run);
}

/**
 * Runs a request and counts the statements that it sends to the database, and its mails.
 *
 * @param run The request.
 * @returns The result, and the numbers.
 */
export async function countStatements<T>(
  run: () => Promise<T>,
): Promise<{ readonly result: T } & Readonly<Counter>> {
  const outer = storage?.getStore()?.counter;
  const counter = { statements: 0, mails: 0, hasFailed: false };
  const result = await runInScope({ counter }, run);
  if (outer !== undefined) outer.hasFailed ||= counter.hasFailed;
  return { result, ...counter };
}

/** Notes that a statement of the current request has failed. */
export function noteFailure(): void {
  const counter = storage?.getStore()?.counter;
  if (counter !== undefined) counter.hasFailed = true;
}

/** Counts a statement of the current request. */
function addStatement(): void {
  const counter = storage?.getStore()?.counter;
  if (counter !== undefined) counter.statements++;
}

/** Counts a mail of the current request, which is one statement. */
export function addMail(): void {
  addStatement();
  const counter = storage?.getStore()?.counter;
  if (counter !== undefined) counter.mails++;
}

/** Returns the client of the transaction in which better-auth calls a function. */
export function findAuthTransaction(): JobClient | undefined {
  return storage?.getStore()?.transaction;
}

const STATEMENTS: ReadonlySet<string | symbol> = new Set([
  "select",
  "selectDistinct",
  "insert",
  "update",
  "delete",
  "execute",
]);

type AnyFunction = (...args: unknown[]) => unknown;

/**
 * Returns a view of a client that counts the statements of requests, and that makes its open
 * transaction available to functions that better-auth calls.
 *
 * @param db The client.
 */
export function trackStatements<T extends object>(db: T): T {
  return new Proxy(db, {
    get(target, key): unknown {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== "function") return value;
      if (key === "transaction") return trackTransaction(target, value as AnyFunction);
      if (!STATEMENTS.has(key)) return value;
      return (...args: unknown[]): unknown => {
        addStatement();
        return (value as AnyFunction).apply(target, args);
      };
    },
  });
}

function trackTransaction(target: object, begin: AnyFunction): AnyFunction {
  return (run, ...options) => {
    const counter = storage?.getStore()?.counter ?? { statements: 0, mails: 0, hasFailed: false };
    // BEGIN and COMMIT
    counter.statements += 2;
    return begin.call(
      target,
      (tx: JobClient) =>
        runInScope({ counter, transaction: tx }, () => (run as AnyFunction)(trackStatements(tx))),
      ...options,
    );
  };
}
