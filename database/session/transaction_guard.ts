import type {
  PgQueryResultHKT,
  PgSession,
  PgTransaction,
  PgTransactionConfig,
} from "drizzle-orm/pg-core";
import type { DrizzleClient } from "./drizzle_client.ts";
import { findSession } from "./statement_session.ts";
import {
  createSavepointError,
  POSTGRES_RULES,
  type TransactionRules,
  TransactionState,
} from "./transaction_state.ts";

type Session = PgSession<PgQueryResultHKT, Record<string, unknown>>;
type Transaction = PgTransaction<PgQueryResultHKT, Record<string, unknown>>;
type Prepared = Record<"execute" | "all", unknown>;

/** States of running transactions of drizzle's own drivers, by their sessions. */
const transactionStates: WeakMap<object, TransactionState> = new WeakMap();

/**
 * Returns the state of a transaction.
 *
 * @param client The transaction's client, or the view of it that a prepared query gets.
 * @returns The state, or `undefined` for a client outside of a transaction.
 */
export function findTransactionState(client: object): TransactionState | undefined {
  const own = findSession(client);
  if (own !== undefined) return own.state;
  const session = (client as { _?: { session?: object } })._?.session;
  return session && transactionStates.get(session);
}

/** Checks whether a client is that of a transaction on a server without savepoints. */
export function isFlatTransaction(client: object): boolean {
  return findTransactionState(client)?.rules.savepoints === false;
}

const guarded: WeakSet<object> = new WeakSet();

/**
 * Guards the transactions of a client: marks errors of statements while their transaction runs, turns
 * a COMMIT without an answer into `CommitOutcomeUnknownError`, and rejects a transaction that
 * continued after a failed statement, which the server would answer with a silent ROLLBACK. Sessions
 * of this package do so themselves; those of drizzle's own drivers are changed.
 *
 * @param db The client. Guarding it twice has no further effect.
 * @param rules Limits of the server, for a client of drizzle's own drivers.
 * @returns The same client.
 */
export function guardTransactions<TSchema extends Record<string, unknown>>(
  db: DrizzleClient<TSchema>,
  rules: TransactionRules = POSTGRES_RULES,
): DrizzleClient<TSchema> {
  if (findSession(db) !== undefined) return db;
  const session = db._.session as Session;
  if (guarded.has(session)) return db;
  guarded.add(session);
  const begin = session.transaction.bind(session);
  session.transaction = async function guardedTransaction<T>(
    fn: (tx: Transaction) => Promise<T>,
    config?: PgTransactionConfig,
  ): Promise<T> {
    const state = new TransactionState(rules);
    const settings = state.checkSettings(config);
    return await state.run(() =>
      begin((tx) => {
        watchTransaction(tx as Transaction, state);
        return state.work(
          () => fn(tx as Transaction),
          () => tx.execute("select 1"),
        );
      }, settings)
    );
  };
  return db;
}

function watchTransaction(tx: Transaction, state: TransactionState): void {
  transactionStates.set(tx._.session, state);
  watchStatements(tx._.session as Session, state);
  const nest = tx.transaction.bind(tx);
  tx.transaction = function guardedSavepoint<T>(
    fn: (inner: Transaction) => Promise<T>,
  ): Promise<T> {
    if (!state.rules.savepoints) return Promise.reject(createSavepointError());
    return nest((inner) => {
      watchTransaction(inner as Transaction, state);
      return fn(inner as Transaction);
    });
  } as Transaction["transaction"];
}

function watchStatements(session: Session, state: TransactionState): void {
  // some drivers use one session for a transaction and its savepoints
  if (guarded.has(session)) return;
  guarded.add(session);
  const prepare = session.prepareQuery.bind(session) as unknown as (...args: unknown[]) => Prepared;
  session.prepareQuery = function prepareWatched(...args: unknown[]): unknown {
    return watchPrepared(prepare(...args), state);
  } as Session["prepareQuery"];
}

function watchPrepared(prepared: Prepared, state: TransactionState): Prepared {
  for (const method of ["execute", "all"] as const) {
    const run = prepared[method] as ((...values: unknown[]) => Promise<unknown>) | undefined;
    if (typeof run !== "function") continue;
    prepared[method] = async function runWatched(...values: unknown[]): Promise<unknown> {
      try {
        return await run.apply(prepared, values);
      } catch (error) {
        state.noteFailure(error);
        throw error;
      }
    };
  }
  return prepared;
}
