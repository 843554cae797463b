/** A time in which the database did not answer, in milliseconds of `performance.now()`. */
export interface DownTime {
  readonly from: number;
  /** Not set while it lasts. */
  until?: number;
}

/** A request that ended, or whose connection did. */
export interface Outcome {
  /** What was sent, such as `create note` or `bad JSON`. */
  readonly kind: string;
  /** The status, or what happened instead of an answer. */
  readonly result: number | string;
  readonly startedAt: number;
  readonly endedAt: number;
  /** What may happen while all is well. */
  readonly expected: readonly (number | string)[];
  /** Whether the database is asked on the way to the answer. */
  readonly usesDatabase: boolean;
  /** `code` in the body of an error. */
  readonly code?: string;
}

/** What is documented for a database that cannot be reached. */
const CODES_OF_AN_OUTAGE = new Set([
  // the auth routes
  "UNEXPECTED",
  "DATABASE",
  "COMMIT_OUTCOME_UNKNOWN",
  "SERVICE_UNAVAILABLE",
  "DEADLINE_EXCEEDED",
]);

/** Counts of one kind of request. */
export interface KindRow {
  readonly kind: string;
  readonly count: number;
  /** How often each result came. */
  readonly results: ReadonlyMap<number | string, number>;
  readonly latencies: readonly number[];
}

/** Counts what requests led to, and judges it. */
export class Outcomes {
  readonly #byKind: Map<string, { results: Map<number | string, number>; latencies: number[] }> =
    new Map();
  readonly #downTimes: readonly DownTime[];
  readonly #faults: Map<string, number> = new Map();
  #total = 0;
  #duringOutage = 0;
  #metOutage = 0;

  /** @param downTimes When the database was down; may grow. */
  constructor(downTimes: readonly DownTime[] = []) {
    this.#downTimes = downTimes;
  }

  /** Requests so far. */
  get total(): number {
    return this.#total;
  }

  /** Requests that failed, and were allowed to, since the database was down. */
  get duringOutage(): number {
    return this.#duringOutage;
  }

  /** Requests that ran while the database was down, also those that succeeded after it. */
  get metOutage(): number {
    return this.#metOutage;
  }

  /** What must not happen, and how often it did. */
  get faults(): ReadonlyMap<string, number> {
    return this.#faults;
  }

  /** All kinds by name. */
  rows(): KindRow[] {
    return [...this.#byKind].sort(([a], [b]) => a < b ? -1 : 1).map((
      [kind, { results, latencies }],
    ) => (
      { kind, count: latencies.length, results, latencies }
    ));
  }

  /**
   * Takes a request that ended.
   *
   * @returns Whether it went as it should with a database that works.
   */
  add(outcome: Outcome): boolean {
    const { kind, result, startedAt, endedAt } = outcome;
    let row = this.#byKind.get(kind);
    if (row === undefined) this.#byKind.set(kind, row = { results: new Map(), latencies: [] });
    row.results.set(result, (row.results.get(result) ?? 0) + 1);
    row.latencies.push(endedAt - startedAt);
    this.#total++;
    if (this.wasDown(startedAt, endedAt)) this.#metOutage++;
    if (outcome.expected.includes(result)) return true;
    if (this.#isOutage(outcome)) this.#duringOutage++;
    else this.fault(`${kind}: ${result}${outcome.code === undefined ? "" : ` ${outcome.code}`}`);
    return false;
  }

  /** Notes something that must not happen. */
  fault(text: string): void {
    this.#faults.set(text, (this.#faults.get(text) ?? 0) + 1);
  }

  /** Whether the database was down at some moment between two. */
  wasDown(from: number, to: number): boolean {
    return this.#downTimes.some((time) => from < (time.until ?? Infinity) && to > time.from);
  }

  /** An answer all the same: a connection that breaks off is none. A request sent after the recovery has no excuse. */
  #isOutage({ result, code, usesDatabase, startedAt, endedAt }: Outcome): boolean {
    if (!usesDatabase || typeof result !== "number" || result < 500) return false;
    return CODES_OF_AN_OUTAGE.has(code ?? "") && this.wasDown(startedAt, endedAt);
  }
}

/**
 * The value below which a share of all values is.
 *
 * @param sorted Values in ascending order.
 * @param share 0 to 1.
 */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted.length === 0
    ? 0
    : sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
