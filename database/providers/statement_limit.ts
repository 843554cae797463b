import { runOutsideInvocation } from "../../observability/invocation_context.ts";

/**
 * How long the database may be silent about a statement, outside of invocations that have a deadline. A session
 * changes it while it lives.
 */
export interface StatementLimit {
  /** Milliseconds. */
  ms: number;
}

/** Seconds, where the configuration says nothing. */
const DEFAULT_SECONDS = 60;

/**
 * The limit of a configuration.
 *
 * @param config A checked configuration.
 */
export function getLimit(
  { statementTimeoutSeconds }: { statementTimeoutSeconds?: number },
): StatementLimit {
  return { ms: (statementTimeoutSeconds ?? DEFAULT_SECONDS) * 1000 };
}

/**
 * The error of a statement that was not answered in time. Its code makes pools close the connection.
 *
 * @param limit The limit that was reached.
 */
export function silent({ ms }: StatementLimit): Error {
  const message =
    `The database did not answer within ${ms / 1000} s; it may have run the statement. ` +
    "DatabaseConfig.statementTimeoutSeconds sets this time";
  return Object.assign(new Error(message), { code: SILENT });
}

/** A process that was busy, or suspended, reads in this time what was answered meanwhile. */
const GRACE_MS = 50;

const SILENT = "CONNECTION_SILENT";

/** Whether an error is that of {@link silent}. */
export function isSilent(error: unknown): boolean {
  return (error as { code?: unknown }).code === SILENT;
}

/**
 * Watches the statements of one connection: each may take as long as the limit, from when it was sent and from the last
 * answer to one before it.
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
   * @param onSilent Called once when it is reached.
   * @param lastAnswerMs When others were answered that a statement may wait for, on the clock of `performance.now()`.
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

  /** To be called when a statement is sent. */
  sent(): void {
    if (this.#underWay++ > 0 || this.#isClosed) return;
    this.#isOverdue = false;
    this.#sinceMs = performance.now();
    this.#arm(this.#limit.ms);
  }

  /** To be called when a statement has ended. */
  ended(): void {
    this.#sinceMs = performance.now();
    if (--this.#underWay === 0) clearTimeout(this.#timer);
  }

  /** Ends the watch. */
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
 * Waits for a statement for as long as the limit.
 *
 * @param statement The statement under way.
 * @param limit The limit.
 * @param lastAnswerMs When others were answered that it may wait for, on the clock of `performance.now()`.
 * @returns What the statement resolves to.
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
