import { runOutsideInvocation } from "../../observability/invocation_context.ts";
import { SILENT } from "../../sql/sqlstate.ts";

/**
 * Maximum time without an answer to a statement, outside of invocations with a deadline. A session
 * may change it.
 */
export interface StatementLimit {
  /** Milliseconds. */
  ms: number;
}

/** Default in seconds. */
const DEFAULT_SECONDS = 60;

/**
 * Returns the limit of a configuration.
 *
 * @param config A checked configuration.
 */
export function getLimit(
  { statementTimeoutSeconds }: { statementTimeoutSeconds?: number },
): StatementLimit {
  return { ms: (statementTimeoutSeconds ?? DEFAULT_SECONDS) * 1000 };
}

/**
 * Creates the error of a statement that was not answered in time. Its code makes pools close the
 * connection.
 *
 * @param limit The limit that was reached.
 */
export function silent({ ms }: StatementLimit): Error {
  const message =
    `The database did not answer within ${ms / 1000} s; it may have run the statement. ` +
    "DatabaseConfig.statementTimeoutSeconds sets this limit";
  return Object.assign(new Error(message), { code: SILENT });
}

/** Grace period in which a process that was busy or suspended reads pending answers. */
const GRACE_MS = 50;

/**
 * Watchdog for the statements of one connection. The limit of a statement starts when it is sent,
 * and restarts with each answer to an earlier statement.
 */
export class StatementWatch {
  readonly #limit: StatementLimit;
  readonly #onSilent: (error: Error) => void;
  readonly #lastAnswerMs: () => number;
  #underWay = 0;
  #sinceMs = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;
  #isOverdue = false;

  /**
   * @param limit The limit.
   * @param onSilent Called once when the limit is reached.
   * @param lastAnswerMs Returns when statements that this one may wait for were answered, on the
   * clock of `performance.now()`.
   */
  constructor(
    limit: StatementLimit,
    onSilent: (error: Error) => void,
    lastAnswerMs: () => number = () => 0,
  ) {
    this.#limit = limit;
    this.#onSilent = onSilent;
    this.#lastAnswerMs = lastAnswerMs;
  }

  /** Records that a statement is sent. */
  sent(): void {
    if (this.#underWay++ > 0 || this.#isClosed) return;
    this.#isOverdue = false;
    this.#sinceMs = performance.now();
    this.#arm(this.#limit.ms);
  }

  /** Records that a statement has ended. */
  ended(): void {
    this.#sinceMs = performance.now();
    if (--this.#underWay === 0) clearTimeout(this.#timer);
  }

  /** Stops the watch. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #arm(delayMs: number): void {
    this.#timer = runOutsideInvocation(() => setTimeout(() => this.#look(), delayMs));
  }

  #look(): void {
    const leftMs = Math.max(this.#sinceMs, this.#lastAnswerMs()) + this.#limit.ms -
      performance.now();
    const wasOverdue = this.#isOverdue;
    this.#isOverdue = leftMs <= 0;
    if (!this.#isOverdue) return this.#arm(leftMs);
    if (!wasOverdue) return this.#arm(GRACE_MS);
    this.close();
    this.#onSilent(silent(this.#limit));
  }
}

/**
 * Waits for a statement up to the limit.
 *
 * @param statement The running statement.
 * @param limit The limit.
 * @param lastAnswerMs Returns when statements that this one may wait for were answered, on the
 * clock of `performance.now()`.
 * @returns The result of the statement.
 * @throws {Error} With the code `CONNECTION_SILENT` if the limit is reached.
 */
export async function withinLimit<T>(
  statement: PromiseLike<T>,
  limit: StatementLimit,
  lastAnswerMs?: () => number,
): Promise<T> {
  let fail: (error: Error) => void = () => {};
  const silence = new Promise<never>((_, reject) => fail = reject);
  const watch = new StatementWatch(limit, fail, lastAnswerMs);
  watch.sent();
  try {
    return await Promise.race([statement, silence]);
  } finally {
    watch.close();
  }
}
