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
export function addStatement(): void {
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

/**
 * Runs a transaction of better-auth, and makes it available to functions that better-auth calls.
 *
 * @param begin Begins the transaction, and runs its work with the function that it gets.
 * @returns The result of `begin`.
 */
export function runInTransaction<T>(
  begin: (inScope: <R>(transaction: JobClient, work: () => R) => R) => T,
): T {
  const counter = storage?.getStore()?.counter ?? { statements: 0, mails: 0, hasFailed: false };
  // BEGIN and COMMIT
  counter.statements += 2;
  return begin((transaction, work) => runInScope({ counter, transaction }, work));
}
