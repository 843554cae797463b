/**
 * A fault that the server can be told to answer with.
 *
 * - `OC000`: the transaction's COMMIT (or the statement itself in autocommit) conflicts.
 * - `OC001`: a statement finds the schema changed.
 * - `cut-at-statement`, `cut-before-commit`, `cut-after-commit`: the connection ends without a word.
 * - `unavailable-before-commit`, `unavailable-after-commit`: COMMIT answers XX000; nothing, or everything, was committed.
 * - `waking`, `access-denied`, `too-many-connections`, `connection-rate`: the connection is refused.
 * - `job-failed`: an asynchronous job ends as failed.
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

/** When and how often a fault strikes. */
export interface DistSqlInjection {
  /** What goes wrong. */
  readonly fault: DistSqlFault;
  /**
   * How many times it strikes; `Infinity` for ever.
   *
   * @default 1
   */
  readonly times?: number;
  /**
   * How many fitting occasions pass before it strikes.
   *
   * @default 0
   */
  readonly skip?: number;
  /** Strikes where the statement (at COMMIT: any statement of the transaction) contains the text or matches. */
  readonly match?: string | RegExp;
  /** Strikes this database role only. */
  readonly user?: string;
}

/** A fault that was put in, and what is left of it. */
export interface InjectedFault {
  /** How many times it will still strike. */
  readonly remaining: number;
  /** Takes it out again. */
  remove(): void;
}

/** An occasion at which faults may strike. */
export interface FaultOccasion {
  readonly user?: string;
  readonly texts?: readonly string[];
}

interface PendingFault extends DistSqlInjection {
  remaining: number;
  toSkip: number;
}

const FAULTS: readonly DistSqlFault[] = [
  ...["OC000", "OC001", "cut-at-statement", "cut-before-commit", "cut-after-commit"] as const,
  ...["unavailable-before-commit", "unavailable-after-commit"] as const,
  ...["waking", "access-denied", "too-many-connections", "connection-rate", "job-failed"] as const,
];

function checkCount(name: string, value: number, least: number): number {
  if ((Number.isInteger(value) || value === Number.POSITIVE_INFINITY) && value >= least) {
    return value;
  }
  throw new RangeError(`${name} must be a whole number from ${least} up, got ${value}`);
}

function fits(text: string, match: string | RegExp): boolean {
  return typeof match === "string" ? text.includes(match) : text.search(match) >= 0;
}

/** Keeps the faults that were put in, and hands them out on fitting occasions. */
export class FaultRegistry {
  readonly #pending: PendingFault[] = [];

  /** Puts a fault in; throws a RangeError for an unknown name or a count that is none. */
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

  /** The first of the given faults that strikes now. */
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
