import type {
  PgQueryResultHKT,
  PgSession,
  PgTransaction,
  PgTransactionConfig,
} from "drizzle-orm/pg-core";
import { sql } from "drizzle-orm";
import { causeChain } from "../errors/cause_chain.ts";
import { CommitOutcomeUnknownError } from "../errors/database_errors.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import type { DrizzleClient } from "./providers/provider.ts";
import { isLateFailure } from "./session/lease.ts";
import type { StatementSession } from "./session/statement_session.ts";
import { isCommitOutcomeUnknown } from "./sqlstate.ts";

type Session = PgSession<PgQueryResultHKT, Record<string, unknown>>;
type Transaction = PgTransaction<PgQueryResultHKT, Record<string, unknown>>;
type Prepared = Record<"execute" | "all", unknown>;

/** State of one transaction, which its savepoints share. */
export interface TransactionState {
  /** True after COMMIT or ROLLBACK. */
  hasEnded: boolean;
  /** True if the server supports savepoints. */
  readonly savepoints: boolean;
  /** Settles with the statements that were sent ahead: if one failed, COMMIT was a rollback. */
  sentAhead?: Promise<unknown>;
  /** Called after COMMIT. Must not throw. */
  onCommitted?: () => Promise<void>;
}

/** States of running transactions by their sessions. */
const transactionStates: WeakMap<object, TransactionState> = new WeakMap();

/**
 * Returns the state of a transaction.
 *
 * @param client The transaction's client, or the view of it that a prepared query gets.
 * @returns The state, or `undefined` for a client outside of a transaction.
 */
export function findTransactionState(client: object): TransactionState | undefined {
  const session = (client as { _?: { session?: object } })._?.session;
  return session && transactionStates.get(session);
}

/** Checks whether a client is that of a transaction on a server without savepoints. */
export function isFlatTransaction(client: object): boolean {
  return findTransactionState(client)?.savepoints === false;
}

/**
 * Transactions by the errors of their statements. While a transaction is open, a retry must not
 * handle its errors: only the whole transaction can be run again. The caller of a statement cannot
 * see whether it belongs to a transaction, so the error records it.
 */
const transactionOf: WeakMap<object, TransactionState> = new WeakMap();

function findTransaction(error: unknown): TransactionState | undefined {
  const found = causeChain(error).filter((link) => typeof link === "object" && link !== null)
    .map((link) => transactionOf.get(link as object));
  return found.find((state) => state?.hasEnded === false);
}

/** Checks whether an error was thrown in a transaction that is still open. */
export function isInsideTransaction(error: unknown): boolean {
  return findTransaction(error) !== undefined;
}

/**
 * Assigns an error to the transaction of the error that it replaces.
 *
 * @param from The original error.
 * @param to The error that replaces it.
 */
export function keepTransaction(from: unknown, to: object): void {
  const state = findTransaction(from);
  if (state !== undefined) transactionOf.set(to, state);
}

const guarded: WeakSet<object> = new WeakSet();

/** Limits of transactions on a server. */
export interface TransactionRules {
  /** Supports savepoints, which nested transactions need. */
  savepoints: boolean;
  /** Supports choosing the isolation level and access mode. */
  settings: boolean;
}

const POSTGRES: TransactionRules = { savepoints: true, settings: true };

/**
 * Guards a client's transactions, with any driver: marks errors of statements while their
 * transaction runs, turns a COMMIT without an answer into {@link CommitOutcomeUnknownError}, and
 * rejects a transaction that continued after a failed statement, which the server would answer with
 * a silent ROLLBACK.
 *
 * @param db The client. Guarding it twice has no further effect.
 * @param rules Limits of the server.
 * @returns The same client.
 */
export function guardTransactions<TSchema extends Record<string, unknown>>(
  db: DrizzleClient<TSchema>,
  rules: TransactionRules = POSTGRES,
): DrizzleClient<TSchema> {
  const session = db._.session as unknown as Session;
  if (guarded.has(session)) return db;
  guarded.add(session);
  const begin = session.transaction.bind(session);
  session.transaction = async function guardedTransaction<T>(
    fn: (tx: Transaction) => Promise<T>,
    config?: PgTransactionConfig,
  ): Promise<T> {
    const failures: unknown[] = [];
    const state: TransactionState = { hasEnded: false, savepoints: rules.savepoints };
    let bodyDone = false;
    let result: T;
    try {
      result = await begin(async (tx) => {
        watchTransaction(tx as Transaction, { failures, state, rules });
        const result = await fn(tx as Transaction);
        if (failures.length > 0) await assertNotAborted(tx as Transaction, failures);
        bodyDone = true;
        return result;
      }, rules.settings ? config : withoutSettings(config));
      await state.sentAhead;
    } catch (error) {
      if (bodyDone && !isLateFailure(error) && isCommitOutcomeUnknown(error)) {
        throw new CommitOutcomeUnknownError(undefined, { cause: error });
      }
      throw error;
    } finally {
      state.hasEnded = true;
    }
    await state.onCommitted?.();
    return result;
  };
  return db;
}

/**
 * Rejects transaction settings. The provider's transactions are always REPEATABLE READ, READ WRITE,
 * and SET TRANSACTION fails.
 */
function withoutSettings(config: PgTransactionConfig | undefined): undefined {
  const { isolationLevel = "repeatable read", accessMode = "read write" } = config ?? {};
  if (isolationLevel === "repeatable read" && accessMode === "read write") return undefined;
  throw new ConfigurationError(
    "Transactions of this provider are always repeatable read and read write, not " +
      `${isolationLevel} and ${accessMode}: leave out both settings`,
  );
}

interface WatchedTransaction {
  failures: unknown[];
  state: TransactionState;
  rules: TransactionRules;
}

function watchTransaction(tx: Transaction, watched: WatchedTransaction): void {
  transactionStates.set(tx._.session, watched.state);
  watchStatements(tx._.session as unknown as Session, watched);
  const nest = tx.transaction.bind(tx);
  tx.transaction = function guardedSavepoint<T>(
    fn: (inner: Transaction) => Promise<T>,
  ): Promise<T> {
    if (!watched.rules.savepoints) {
      return Promise.reject(
        new ConfigurationError(
          "A nested transaction needs savepoints, which this provider does not support: pass " +
            "the outer transaction's client to the inner work",
        ),
      );
    }
    return nest((inner) => {
      watchTransaction(inner as Transaction, watched);
      return fn(inner as Transaction);
    });
  } as Transaction["transaction"];
}

function watchStatements(session: Session, watched: WatchedTransaction): void {
  // some drivers use one session for a transaction and its savepoints
  if (guarded.has(session)) return;
  guarded.add(session);
  const prepare = session.prepareQuery.bind(session) as unknown as (...args: unknown[]) => Prepared;
  session.prepareQuery = function prepareWatched(...args: unknown[]): unknown {
    return watchPrepared(prepare(...args), watched);
  } as Session["prepareQuery"];
  // statements that another session of the client has prepared
  const statements = session as Partial<StatementSession>;
  const bind = statements.bind?.bind(session);
  if (bind === undefined) return;
  statements.bind = (statement) => watchPrepared(bind(statement) as Prepared, watched);
}

function watchPrepared(prepared: Prepared, { failures, state }: WatchedTransaction): Prepared {
  if (guarded.has(prepared)) return prepared;
  guarded.add(prepared);
  for (const method of ["execute", "all"] as const) {
    const run = prepared[method] as ((...values: unknown[]) => Promise<unknown>) | undefined;
    if (typeof run !== "function") continue;
    prepared[method] = async function runWatched(...values: unknown[]): Promise<unknown> {
      try {
        return await run.apply(prepared, values);
      } catch (error) {
        failures.push(error);
        mark(error, state);
        throw error;
      }
    };
  }
  return prepared;
}

function mark(error: unknown, state: TransactionState): void {
  for (const link of causeChain(error)) {
    if (typeof link === "object" && link !== null) transactionOf.set(link, state);
  }
}

async function assertNotAborted(tx: Transaction, failures: readonly unknown[]): Promise<void> {
  const [first] = failures;
  try {
    await tx.execute(sql`select 1`);
  } catch {
    throw first;
  }
}
