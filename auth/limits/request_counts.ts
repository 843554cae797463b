import type {
  RateLimitDecision,
  RateLimitRule,
  RateLimitStore,
} from "../../core/rate_limit/rate_limit.ts";
import { refuseRequest } from "../../core/rate_limit/count_request.ts";
import { logWarn } from "../../observability/logger.ts";

/** What a request is counted by, and the limit. */
export type Count = readonly [key: string, rule: RateLimitRule];

/** A counted attempt, which is given back if it succeeds. */
interface Attempt {
  readonly count: Count;
  readonly decision: RateLimitDecision;
}

/** The counts of one request of the auth routes, so that they share statements and round trips. */
export class RequestCounts {
  readonly #store: RateLimitStore;
  #route: Count | undefined;
  #attempts: readonly Attempt[] = [];

  /**
   * @param store The store.
   */
  constructor(store: RateLimitStore) {
    this.#store = store;
  }

  /**
   * Postpones the count by route until the next count of the request, or its end.
   *
   * @param route The count by route and address.
   */
  postpone(route: Count): void {
    this.#route = route;
  }

  /**
   * Counts the request by keys, after the postponed count by route and in one statement with it.
   *
   * @param counts The keys, in their order; none to count by the route only.
   * @returns The decisions on the keys.
   * @throws {TooManyRequestsError} If the limit of the route is reached.
   */
  async take(counts: readonly Count[]): Promise<RateLimitDecision[]> {
    const route = this.#route;
    this.#route = undefined;
    if (route === undefined) {
      return counts.length === 0 ? [] : await this.#store.takeInOrder(counts);
    }
    const [first, ...others] = await this.#store.takeInOrder([route, ...counts]);
    if (!first.allowed) throw refuseRequest("address", route[1], first);
    return others;
  }

  /** Adds counted attempts, which {@link giveBack} takes back. */
  addAttempts(attempts: readonly Attempt[]): void {
    this.#attempts = [...this.#attempts, ...attempts];
  }

  /** Gives the attempts back. An error of the database only leaves them counted. */
  async giveBack(): Promise<void> {
    const attempts = this.#attempts;
    this.#attempts = [];
    await Promise.all(
      attempts.map(({ count: [key], decision }) =>
        this.#store.giveBack(key, decision).catch((error: unknown) =>
          logWarn("A successful attempt stays counted", { error })
        )
      ),
    );
  }

  /**
   * Ends the request: counts it by its route if nothing else did.
   *
   * @throws {TooManyRequestsError} If a limit is reached.
   */
  async end(): Promise<void> {
    await this.take([]);
  }
}
