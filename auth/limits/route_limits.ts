import type { RateLimitStore } from "../../core/rate_limit/rate_limit.ts";
import { refuseRequest } from "../../core/rate_limit/count_request.ts";
import type { LibraryOptions } from "../better_auth/library_options.ts";

type LibraryStorage = NonNullable<NonNullable<LibraryOptions["rateLimit"]>["customStorage"]>;

/**
 * Creates the storage for better-auth's limits by address and path. The rules of paths, of plugins
 * and of `rateLimit.customRules` stay better-auth's. A refused request is answered with 429 and the
 * headers of the limit.
 *
 * @param store The store.
 * @param findPattern Returns the pattern of a path, such as `/reset-password/:token`, so that an attacker cannot fill
 * the table with a row for each path; `undefined` for an unknown path.
 */
export function createRouteStorage(
  store: RateLimitStore,
  findPattern: (path: string) => string | undefined,
): LibraryStorage {
  return {
    async consume(key, { max, window }) {
      // better-auth's key is `<address>|<path>`
      const at = key.indexOf("|");
      const path = findPattern(key.slice(at + 1)) ?? "unknown";
      const rule = { limit: Math.floor(max), windowSeconds: window };
      const decision = await store.take(`route|${path}|${key.slice(0, at)}`, rule);
      if (!decision.allowed) throw refuseRequest("address", rule, decision);
      return { allowed: true, retryAfter: null };
    },
  };
}
