import { beforeDeadline } from "../core/request_context.ts";
import { isAppError } from "../errors/app_error.ts";
import { ServiceUnavailableError } from "../errors/http_errors.ts";
import { logError, logWarn } from "../observability/logger.ts";
import { addOccurrences } from "../observability/metrics.ts";
import type { Attempt, Claim, IdempotencyBackend, RecordKey, RecordTerms } from "./backend.ts";

/** One execution of a handler, and how its outcome is stored. */
export interface Execution<T> {
  /** Runs the handler; with the transaction's client, if the backend has transactions. */
  run(tx: unknown): Promise<T>;
  /** True if the value is a failure, which frees the key. */
  isFailure(value: T): boolean;
  /** Returns the text that is stored for a value. */
  encode(value: T): string;
  /** Returns the value of a stored text. */
  decode(text: string): T;
  /** Returns the text to store for a thrown error; `undefined` if the error frees the key. */
  encodeError(error: unknown): string | undefined;
}

/** Result of {@link executeOnce}: the value of this execution, or the record of another one. */
export type Executed<T> = { readonly value: T } | {
  readonly other: Exclude<Claim, { fence: string }>;
};

/** Text of a result that was too large to be stored. */
export const NOT_STORED = "";

/** For messages. */
const STORE = "The idempotency store";

/** Ends a transaction without an error for the caller. */
class RolledBack<T> extends Error {
  readonly value: T;

  constructor(value: T) {
    super("rolled back");
    this.value = value;
  }
}

/**
 * Executes work unless its record shows that it was executed, or is being executed.
 *
 * @param backend Storage of the records.
 * @param record Record of the work.
 * @param terms Lease and lifetime of the record.
 * @param execution The work.
 * @returns The value, or the record of the other execution.
 * @throws What the work throws; its key is then free, unless the error is stored.
 */
export async function executeOnce<T>(
  backend: IdempotencyBackend<unknown>,
  record: RecordKey,
  terms: RecordTerms,
  execution: Execution<T>,
): Promise<Executed<T>> {
  const claim = await backend.claim(record, terms);
  if (claim.state !== "claimed") return { other: claim };
  const attempt: Attempt = { ...terms, id: record.id, fence: claim.fence };
  try {
    const value = backend.transactions === undefined
      ? await runWithLease(backend, attempt, execution)
      : await runInTransaction(backend, attempt, execution);
    return { value };
  } catch (error) {
    if (error instanceof RolledBack) {
      await release(backend, attempt);
      return { value: error.value as T };
    }
    const committed = await findCommitted(backend, attempt, error);
    if (committed !== undefined) return { value: execution.decode(committed) };
    await storeFailure(backend, attempt, execution.encodeError(error));
    throw error;
  }
}

async function runWithLease<T>(
  backend: IdempotencyBackend<unknown>,
  attempt: Attempt,
  { run, isFailure, encode }: Execution<T>,
): Promise<T> {
  const value = await run(undefined);
  if (isFailure(value)) await release(backend, attempt);
  else await complete(backend, attempt, limit(backend, encode(value)));
  return value;
}

function runInTransaction<T>(
  backend: IdempotencyBackend<unknown>,
  attempt: Attempt,
  { run, isFailure, encode }: Execution<T>,
): Promise<T> {
  const { transactions } = backend;
  return transactions!.run(async function runAndStore(tx): Promise<T> {
    const value = await run(tx);
    if (isFailure(value)) throw new RolledBack(value);
    const isStored = await transactions!.complete(tx, attempt, limit(backend, encode(value)));
    if (!isStored) throw new LeaseLostError();
    return value;
  });
}

/** 503: the execution took longer than its lease, and another one may have taken its place. Nothing was committed. */
class LeaseLostError extends ServiceUnavailableError {
  constructor() {
    super(
      "The lease of this execution ended before its transaction, which was rolled back: raise idempotency.leaseSeconds",
      { retryAfterSeconds: 1 },
    );
  }
}

function limit({ maxResultBytes }: IdempotencyBackend<unknown>, result: string): string {
  // a character has at most 3 bytes for each unit of its UTF-16 form
  const fits = result.length * 3 <= maxResultBytes ||
    new TextEncoder().encode(result).length <= maxResultBytes;
  if (fits) return result;
  logWarn("the result is too large to be stored: duplicates will be rejected", { maxResultBytes });
  return NOT_STORED;
}

/** Returns the result of a transaction whose COMMIT was not answered, if it was committed. */
async function findCommitted(
  { transactions }: IdempotencyBackend<unknown>,
  attempt: Attempt,
  error: unknown,
): Promise<string | undefined> {
  if (transactions === undefined || !isAppError(error, "COMMIT_OUTCOME_UNKNOWN")) return undefined;
  try {
    const result = await transactions.find(attempt);
    return result === NOT_STORED ? undefined : result;
  } catch {
    return undefined; // the caller gets the error of the commit
  }
}

function storeFailure(
  backend: IdempotencyBackend<unknown>,
  attempt: Attempt,
  result: string | undefined,
): Promise<void> {
  return result === undefined
    ? release(backend, attempt)
    : complete(backend, attempt, limit(backend, result));
}

async function complete(
  backend: IdempotencyBackend<unknown>,
  attempt: Attempt,
  result: string,
): Promise<void> {
  try {
    if (await beforeDeadline(STORE, () => backend.complete(attempt, result))) return;
    logWarn("the lease ended before the result was stored: a duplicate may have been executed");
  } catch (error) {
    // the work is done: its caller gets the result
    logError("the result could not be stored: a duplicate may be executed when the lease ends", {
      error,
    });
  }
}

async function release(backend: IdempotencyBackend<unknown>, attempt: Attempt): Promise<void> {
  try {
    await beforeDeadline(STORE, () => backend.release(attempt));
  } catch (error) {
    logWarn("the key could not be freed: duplicates are rejected until the lease ends", { error });
  }
}

const METRICS = { done: "IdempotentReplays", running: "IdempotentConflicts" } as const;

/**
 * Counts a duplicate in the metrics of its handler.
 *
 * @param operationName Name of the handler.
 * @param state State of the first execution.
 */
export function countDuplicate(operationName: string, state: keyof typeof METRICS): void {
  addOccurrences({ operationName }, [[METRICS[state], "Count", 1]]);
}
