import { causeChain } from "../../errors/cause_chain.ts";
import { CommitOutcomeUnknownError } from "../../errors/database_errors.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { isCommitOutcomeUnknown } from "../../sql/sqlstate.ts";
import { isLateFailure } from "./lease.ts";

/** Limits of transactions on a server. */
export interface TransactionRules {
  /** Supports savepoints, which nested transactions need. */
  readonly savepoints: boolean;
  /** Supports choosing the isolation level and access mode. */
  readonly settings: boolean;
}

/** The limits of PostgreSQL. */
export const POSTGRES_RULES: TransactionRules = { savepoints: true, settings: true };

/** The settings of a transaction that servers may not support. */
interface TransactionSettings {
  isolationLevel?: string;
  accessMode?: string;
}

/**
 * Transactions by the errors of their statements. While a transaction is open, a retry must not
 * handle its errors: only the whole transaction can be run again. The caller of a statement cannot
 * see whether it belongs to a transaction, so the error records it.
 */
const transactionOf: WeakMap<object, TransactionState> = new WeakMap();

/** State of one transaction, which its savepoints share. */
export class TransactionState {
  /** Limits of the server. */
  readonly rules: TransactionRules;
  /** True after COMMIT or ROLLBACK. Read only. */
  hasEnded = false;
  /** Settles with the statements that were sent ahead: if one failed, COMMIT was a rollback. */
  sentAhead: Promise<unknown> | undefined;
  /** Called after COMMIT. Must not throw. */
  onCommitted: (() => Promise<void>) | undefined;
  #firstFailure: { error: unknown } | undefined;
  #isWorkDone = false;

  /** @param rules Limits of the server. */
  constructor(rules: TransactionRules) {
    this.rules = rules;
  }

  /**
   * Runs the whole transaction. Turns a COMMIT without an answer into
   * {@link CommitOutcomeUnknownError}.
   *
   * @param transaction Sends BEGIN, runs {@link work}, and sends COMMIT or ROLLBACK.
   * @returns The result of the transaction.
   */
  async run<T>(transaction: () => Promise<T>): Promise<T> {
    let result: T;
    try {
      result = await transaction();
      if (this.sentAhead !== undefined) await this.sentAhead;
    } catch (error) {
      if (this.#isWorkDone && !isLateFailure(error) && isCommitOutcomeUnknown(error)) {
        throw new CommitOutcomeUnknownError(undefined, { cause: error });
      }
      throw error;
    } finally {
      this.hasEnded = true;
    }
    if (this.onCommitted !== undefined) await this.onCommitted();
    return result;
  }

  /**
   * Runs the work of the transaction. Rejects if it continued after a failed statement that aborted
   * the transaction, which the server would answer with a silent ROLLBACK.
   *
   * @param work The work.
   * @param probe Sends a statement that fails in an aborted transaction.
   * @returns The result of the work.
   */
  async work<T>(work: () => Promise<T>, probe: () => PromiseLike<unknown>): Promise<T> {
    const result = await work();
    if (this.#firstFailure !== undefined) {
      try {
        await probe();
      } catch {
        throw this.#firstFailure.error;
      }
    }
    this.#isWorkDone = true;
    return result;
  }

  /** Records the failure of a statement. */
  noteFailure(error: unknown): void {
    this.#firstFailure ??= { error };
    for (const link of causeChain(error)) {
      if (typeof link === "object" && link !== null) transactionOf.set(link, this);
    }
  }

  /**
   * Checks the settings of the transaction. Where they cannot be chosen, transactions are always
   * REPEATABLE READ, READ WRITE, and SET TRANSACTION fails.
   *
   * @returns The settings to send.
   * @throws {ConfigurationError} If the server does not support them.
   */
  checkSettings<C extends TransactionSettings>(config: C | undefined): C | undefined {
    if (this.rules.settings || config === undefined) return config;
    const { isolationLevel = "repeatable read", accessMode = "read write" } = config;
    if (isolationLevel === "repeatable read" && accessMode === "read write") return undefined;
    throw new ConfigurationError(
      "Transactions of this provider are always repeatable read and read write, not " +
        `${isolationLevel} and ${accessMode}: leave out both settings`,
    );
  }
}

/** Creates the error of a nested transaction on a server without savepoints. */
export function createSavepointError(): ConfigurationError {
  return new ConfigurationError(
    "A nested transaction needs savepoints, which this provider does not support: pass " +
      "the outer transaction's client to the inner work",
  );
}

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
