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
import { isCommitOutcomeUnknown } from "./sqlstate.ts";

type Session = PgSession<PgQueryResultHKT, Record<string, unknown>>;
type Transaction = PgTransaction<PgQueryResultHKT, Record<string, unknown>>;
type Prepared = Record<"execute" | "all", unknown>;

interface TransactionState {
  hasEnded: boolean;
}

/**
 * The transactions that errors of statements come from. While one has not ended, whoever retries must leave its errors
 * alone: only the whole transaction can be run again. A statement cannot know what it is part of, so its error does.
 */
const transactionOf: WeakMap<object, TransactionState> = new WeakMap();

function findTransaction(error: unknown): TransactionState | undefined {
  const found = causeChain(error).filter((link) => typeof link === "object" && link !== null)
    .map((link) => transactionOf.get(link as object));
  return found.find((state) => state?.hasEnded === false);
}

/** Whether an error comes out of a transaction that has not ended yet. */
export function isInsideTransaction(error: unknown): boolean {
  return findTransaction(error) !== undefined;
}

/**
 * Has an error belong to the transaction of the one that it stands for.
 *
 * @param from What was thrown.
 * @param to What is thrown in its place.
 */
export function keepTransaction(from: unknown, to: object): void {
  const state = findTransaction(from);
  if (state !== undefined) transactionOf.set(to, state);
}

const guarded: WeakSet<object> = new WeakSet();

/** What the server behind a client cannot do in a transaction. */
export interface TransactionRules {
  /** Whether there are savepoints, which a transaction inside a transaction needs. */
  savepoints: boolean;
  /** Whether a transaction can choose its isolation level and access mode. */
  settings: boolean;
}

const POSTGRES: TransactionRules = { savepoints: true, settings: true };

/**
 * Puts a guard on a client's transactions, whichever driver works below: a statement's failure is marked while its
 * transaction runs, a COMMIT without an answer becomes {@link CommitOutcomeUnknownError}, and a transaction whose
 * failed statement was caught does not pass for committed (the server answers such a COMMIT with a silent ROLLBACK).
 *
 * @param db The client; guarding it again changes nothing.
 * @param rules What the server cannot do.
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
    const state: TransactionState = { hasEnded: false };
    let bodyDone = false;
    try {
      return await begin(async (tx) => {
        watchTransaction(tx as Transaction, { failures, state, rules });
        const result = await fn(tx as Transaction);
        if (failures.length > 0) await assertNotAborted(tx as Transaction, failures);
        bodyDone = true;
        return result;
      }, rules.settings ? config : withoutSettings(config));
    } catch (error) {
      if (bodyDone && !isLateFailure(error) && isCommitOutcomeUnknown(error)) {
        throw new CommitOutcomeUnknownError(undefined, { cause: error });
      }
      throw error;
    } finally {
      state.hasEnded = true;
    }
  };
  return db;
}

/** All transactions are REPEATABLE READ, READ WRITE there, and saying so ends them: SET TRANSACTION is refused. */
function withoutSettings(config: PgTransactionConfig | undefined): undefined {
  const { isolationLevel = "repeatable read", accessMode = "read write" } = config ?? {};
  if (isolationLevel === "repeatable read" && accessMode === "read write") return undefined;
  throw new ConfigurationError(
    `The provider's transactions are repeatable read and read write, not ${isolationLevel} and ${accessMode}: leave both out`,
  );
}

interface WatchedTransaction {
  failures: unknown[];
  state: TransactionState;
  rules: TransactionRules;
}

function watchTransaction(tx: Transaction, watched: WatchedTransaction): void {
  watchStatements(tx._.session as unknown as Session, watched);
  const nest = tx.transaction.bind(tx);
  tx.transaction = function guardedSavepoint<T>(
    fn: (inner: Transaction) => Promise<T>,
  ): Promise<T> {
    if (!watched.rules.savepoints) {
      return Promise.reject(
        new ConfigurationError(
          "A transaction inside a transaction needs savepoints, which the provider does not have: " +
            "hand the outer transaction's client to the inner work",
        ),
      );
    }
    return nest((inner) => {
      watchTransaction(inner as Transaction, watched);
      return fn(inner as Transaction);
    });
  } as Transaction["transaction"];
}

function watchStatements(session: Session, { failures, state }: WatchedTransaction): void {
  // some drivers use one session for a transaction and its savepoints
  if (guarded.has(session)) return;
  guarded.add(session);
  const prepare = session.prepareQuery.bind(session) as unknown as (...args: unknown[]) => Prepared;
  session.prepareQuery = function prepareWatched(...args: unknown[]): unknown {
    const prepared = prepare(...args);
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
  } as Session["prepareQuery"];
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
