import type { RateLimitStore } from "../../core/rate_limit/rate_limit.ts";
import type { LibraryOptions } from "../better_auth/library_options.ts";
import { RequestCounts } from "./request_counts.ts";
import { findRequestCounts } from "./request_scope.ts";

type LibraryStorage = NonNullable<NonNullable<LibraryOptions["rateLimit"]>["customStorage"]>;

/** Options of {@link createRouteStorage}. */
export interface RouteStorageOptions {
  /**
   * Returns the pattern of a path, such as `/reset-password/:token`, so that an attacker cannot fill
   * the table with a row for each path; `undefined` for an unknown path.
   */
  findPattern(path: string): string | undefined;
  /**
   * Returns true if nothing but better-auth's own checks of the request runs before the limits by
   * account, with which the request can then be counted.
   */
  canPostpone(): boolean;
}

/**
 * Creates the storage for better-auth's limits by address and path. The rules of paths, of plugins
 * and of `rateLimit.customRules` stay better-auth's. A refused request is answered with 429 and the
 * headers of the limit.
 *
 * @param store The store.
 * @param options Patterns of paths, and when a request is counted.
 */
export function createRouteStorage(
  store: RateLimitStore,
  { findPattern, canPostpone }: RouteStorageOptions,
): LibraryStorage {
  return {
    async consume(key, { max, window }) {
      // better-auth's key is `<address>|<path>`
      const at = key.indexOf("|");
      const path = findPattern(key.slice(at + 1)) ?? "unknown";
      const rule = { limit: Math.floor(max), windowSeconds: window };
      const running = findRequestCounts();
      const counts = running ?? new RequestCounts(store);
      counts.postpone([`route|${path}|${key.slice(0, at)}`, rule]);
      if (running === undefined || !canPostpone()) await counts.take([]);
      return { allowed: true, retryAfter: null };
    },
  };
}
