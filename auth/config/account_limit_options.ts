import type { RateLimitRule } from "../../core/rate_limit/rate_limit.ts";

/** Limits on requests that concern one account, by its email address, username or phone number. */
export interface AccountLimits {
  /**
   * Failed attempts (passwords and codes) for one account from one address.
   * @default { limit: 5, windowSeconds: 900 }
   */
  failuresPerAddress?: RateLimitRule;
  /**
   * Failed attempts for one account from all addresses together. Addresses from which the account
   * has a session are exempt: attackers cannot lock the owner out of them.
   * @default { limit: 20, windowSeconds: 3_600 }
   */
  failures?: RateLimitRule;
  /**
   * Requests that send a message to one email address or phone number.
   * @default { limit: 10, windowSeconds: 3_600 }
   */
  messages?: RateLimitRule;
}
