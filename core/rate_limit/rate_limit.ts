import { ConfigurationError } from "../../errors/http_errors.ts";
import { wholeNumber } from "../function_options.ts";
import type { ApiEvent } from "../http/lambda.ts";
import type { SessionResult } from "../http/session.ts";
import { checkOptions, type OptionRules, someText } from "../option_rules.ts";

/** How many requests a window of time allows. */
export interface RateLimitRule {
  /** Requests that one window allows, from 1. */
  readonly limit: number;
  /** Length of the window in seconds, from 1 to 86,400 (a day). It starts with its first request. */
  readonly windowSeconds: number;
}

/** The decision on one request. */
export interface RateLimitDecision {
  /** True if the request is within the limit, and was counted. */
  readonly allowed: boolean;
  /** Requests that the window still allows. */
  readonly remaining: number;
  /** Seconds until the window ends, from 1. */
  readonly resetSeconds: number;
  /** Identifies the window in which the request was counted. */
  readonly windowStart: string;
}

/** Counts requests by key. All processes that share a store share its counts. */
export interface RateLimitStore {
  /**
   * Counts a request if the window of its key allows one more.
   *
   * @param key What the request is counted by.
   * @param rule The limit of the key.
   * @returns The decision.
   */
  take(key: string, rule: RateLimitRule): Promise<RateLimitDecision>;
  /**
   * Counts a request by several keys, in their order, up to the first that refuses it: those after it
   * do not count the request. Takes one round trip. Concurrent calls must give keys that they share
   * in the same order, or the database may cancel a call because of a deadlock.
   *
   * @param counts Different keys with their limits.
   * @returns The decisions, the last of which may be a refusal.
   */
  takeInOrder(
    counts: readonly (readonly [key: string, rule: RateLimitRule])[],
  ): Promise<RateLimitDecision[]>;
  /**
   * Takes back a counted request, if its window still lasts.
   *
   * @param key The key that it was counted by.
   * @param decision The decision on it.
   */
  giveBack(key: string, decision: RateLimitDecision): Promise<void>;
}

/** Longest window in seconds: rows without a request for longer than this can be deleted. */
export const MAX_WINDOW_SECONDS = 86_400;

/** A request that is to be counted, with what authentication found. */
export interface RateLimitRequest {
  /** The event. */
  readonly event: ApiEvent;
  /** The authenticated user. */
  readonly userId?: string;
  /** The session, with auth `session`. */
  readonly session?: SessionResult;
  /** The API key, with auth `api-key`. */
  readonly apiKey?: { readonly id: string };
}

/** The option `rateLimit` of a handler. */
export interface RateLimitOptions extends RateLimitRule {
  /**
   * What requests are counted by:
   *
   * - `"user"`: the authenticated user;
   * - `"api-key"`: the API key, with auth `api-key` or a usage plan of a REST API;
   * - `"address"`: the client's address, or the /64 network of an IPv6 address. The request is
   *   counted before authentication;
   * - a function that returns a key. A request for which it returns `undefined` is not counted.
   *
   * Callers without a user or key are counted by address.
   */
  readonly by:
    | "user"
    | "api-key"
    | "address"
    | ((request: RateLimitRequest) => string | undefined);
  /**
   * Name of the limit in headers and the table. Handlers with the same name share their counts.
   * @default the handler's operation name
   */
  readonly name?: string;
}

/**
 * Counts a request and authenticates it. Throws `TooManyRequestsError` if it is over the limit.
 * The headers of the limit are added to the response by {@link getRateLimitHeaders}.
 */
export type RequestLimits = <TIdentity extends object>(
  event: ApiEvent,
  authenticate: (event: ApiEvent) => TIdentity | Promise<TIdentity>,
  options: RateLimitOptions,
  operationName: string,
) => Promise<TIdentity>;

let registered: RequestLimits | undefined;

/**
 * Registers how handlers with the option `rateLimit` count requests. `database` fills the slot
 * through `configureRateLimits`, and `validation` reads it: neither imports the other.
 *
 * @param limits The function, or `undefined` to empty the slot.
 */
export function setRequestLimits(limits: RequestLimits | undefined): void {
  registered = limits;
}

/**
 * Returns the registered function.
 *
 * @throws {ConfigurationError} If nothing is registered.
 */
export function getRequestLimits(): RequestLimits {
  if (registered === undefined) {
    throw new ConfigurationError(
      "A handler has the option rateLimit, but no store is configured: call configureRateLimits(getDb) from " +
        "@trellis/fn/database at module scope, before the first request",
    );
  }
  return registered;
}

/** The headers of counted requests, by event. */
const headersByEvent: WeakMap<ApiEvent, Readonly<Record<string, string>>> = new WeakMap();

/** Returns the headers of the limit that counted a request. */
export function getRateLimitHeaders(event: ApiEvent): Readonly<Record<string, string>> | undefined {
  return headersByEvent.get(event);
}

/** Sets the headers of the limit that counted a request. */
export function setRateLimitHeaders(
  event: ApiEvent,
  headers: Readonly<Record<string, string>>,
): void {
  headersByEvent.set(event, headers);
}

const KEYS: readonly unknown[] = ["user", "api-key", "address"];

const RULES: OptionRules = {
  limit: wholeNumber([1, 2 ** 31 - 1, "requests"]),
  windowSeconds: wholeNumber([1, MAX_WINDOW_SECONDS, "seconds"]),
  by: [
    (by) => KEYS.includes(by) || typeof by === "function",
    '"user", "api-key", "address" or a function',
  ],
  name: someText("a name"),
};

/**
 * Checks the option `rateLimit` of a handler.
 *
 * @throws {ConfigurationError} If a setting is missing, unknown or out of range.
 */
export function checkRateLimit(options: RateLimitOptions): void {
  checkOptions("rateLimit", options, RULES, "rateLimit.");
  for (const name of ["limit", "windowSeconds", "by"] as const) {
    if (options[name] === undefined) {
      throw new ConfigurationError(
        `rateLimit.${name} is missing: write such as { limit: 100, windowSeconds: 60, by: "user" }`,
      );
    }
  }
}
