/**
 * Fault to inject.
 *
 * - `OC000`: the transaction's COMMIT (or the statement itself in autocommit) conflicts.
 * - `OC001`: a statement finds that the schema changed.
 * - `cut-at-statement`, `cut-before-commit`, `cut-after-commit`: the connection is closed without
 *   an answer.
 * - `unavailable-before-commit`, `unavailable-after-commit`: COMMIT answers XX000; nothing, or
 *   everything, was committed.
 * - `waking`, `access-denied`, `too-many-connections`, `connection-rate`: the connection is
 *   refused.
 * - `job-failed`: an asynchronous job fails.
 */
export type DistSqlFault =
  | "OC000"
  | "OC001"
  | "cut-at-statement"
  | "cut-before-commit"
  | "cut-after-commit"
  | "unavailable-before-commit"
  | "unavailable-after-commit"
  | "waking"
  | "access-denied"
  | "too-many-connections"
  | "connection-rate"
  | "job-failed";

const FAULTS: readonly DistSqlFault[] = [
  "OC000",
  "OC001",
  "cut-at-statement",
  "cut-before-commit",
  "cut-after-commit",
  "unavailable-before-commit",
  "unavailable-after-commit",
  "waking",
  "access-denied",
  "too-many-connections",
  "connection-rate",
  "job-failed",
];

/** Conditions for injecting a fault. */
export interface DistSqlInjection {
  /** Fault to inject. */
  readonly fault: DistSqlFault;
  /**
   * Number of injections; `Infinity` for always.
   *
   * @default 1
   */
  readonly times?: number;
  /**
   * Number of matching occasions to skip first.
   *
   * @default 0
   */
  readonly skip?: number;
  /**
   * Only for statements (at COMMIT: any statement of the transaction) that contain the text or
   * match.
   */
  readonly match?: string | RegExp;
  /** Only for this database role. */
  readonly user?: string;
}

/** Injected fault. */
export interface InjectedFault {
  /** Remaining number of injections. */
  readonly remaining: number;
  /** Removes the fault. */
  remove(): void;
}

/** Occasion at which faults can be injected. */
export interface FaultOccasion {
  readonly user?: string;
  readonly texts?: readonly string[];
}

interface PendingFault extends DistSqlInjection {
  remaining: number;
  toSkip: number;
}

function checkCount(name: string, value: number, least: number): number {
  if ((Number.isInteger(value) || value === Number.POSITIVE_INFINITY) && value >= least) {
    return value;
  }
  throw new RangeError(`${name} must be a whole number from ${least} up, got ${value}`);
}

function fits(text: string, match: string | RegExp): boolean {
  return typeof match === "string" ? text.includes(match) : text.search(match) >= 0;
}

/** Registry of injected faults. */
export class FaultRegistry {
  readonly #pending: PendingFault[] = [];

  /** Adds a fault; throws a RangeError for an unknown name or an invalid count. */
  inject(injection: DistSqlInjection): InjectedFault {
    if (!FAULTS.includes(injection.fault)) {
      throw new RangeError(
        `fault must be one of ${FAULTS.join(", ")}, got ${JSON.stringify(injection.fault)}`,
      );
    }
    const pending: PendingFault = {
      ...injection,
      remaining: checkCount("times", injection.times ?? 1, 1),
      toSkip: checkCount("skip", injection.skip ?? 0, 0),
    };
    this.#pending.push(pending);
    return {
      get remaining() {
        return pending.remaining;
      },
      remove: () => {
        pending.remaining = 0;
      },
    };
  }

  /** Returns the first of the given faults that applies now. */
  take(faults: readonly DistSqlFault[], occasion: FaultOccasion = {}): DistSqlFault | undefined {
    for (const pending of this.#pending) {
      if (pending.remaining === 0 || !faults.includes(pending.fault)) continue;
      if (pending.user !== undefined && pending.user !== occasion.user) continue;
      const { match } = pending;
      if (match !== undefined && !occasion.texts?.some((text) => fits(text, match))) continue;
      if (pending.toSkip-- > 0) continue;
      pending.remaining--;
      return pending.fault;
    }
  }
}
