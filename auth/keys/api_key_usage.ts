import { TooManyRequestsError } from "../../errors/http_errors.ts";
import type { ApiKeyConfiguration } from "./api_key_options.ts";

/** A stored API key. */
export interface ApiKeyRow {
  readonly id: string;
  readonly configId: string | null;
  readonly name: string | null;
  readonly referenceId: string;
  readonly refillInterval: number | null;
  readonly refillAmount: number | null;
  readonly lastRefillAt: Date | null;
  readonly enabled: boolean | null;
  readonly rateLimitEnabled: boolean | null;
  readonly rateLimitTimeWindow: number | null;
  readonly rateLimitMax: number | null;
  readonly requestCount: number | null;
  readonly remaining: number | null;
  readonly lastRequest: Date | null;
  readonly expiresAt: Date | null;
  readonly createdAt: Date;
  readonly permissions: string | null;
  readonly metadata: string | null;
}

/** A key as an accepted request sees it. */
export type UsedKey = Pick<
  ApiKeyRow,
  "id" | "configId" | "name" | "referenceId" | "remaining" | "expiresAt" | "metadata"
>;

/** How a request changes the remaining requests of a key. */
export type QuotaStep = "none" | "decrement" | "refill";

/** How a request changes the counter of a key. */
export type CounterStep = "none" | "touch" | "start" | "increment";

/** The changes of a request to the row of its key. They are written by one statement. */
export interface UsagePlan {
  readonly quota: QuotaStep;
  readonly counter: CounterStep;
  /** The error to throw after the change, if the limit of requests is exceeded. */
  readonly refusal?: TooManyRequestsError;
}

/**
 * Plans the use of a key as the plugin of better-auth does (1.7.5, `claimUsageInDatabase`): the
 * remaining requests are counted first, also of a request that the limit then refuses.
 *
 * @param key The stored key.
 * @param configuration Its configuration.
 * @param nowMs The current time.
 * @returns The plan.
 * @throws {TooManyRequestsError} If no requests remain.
 */
export function planUsage(
  key: ApiKeyRow,
  configuration: ApiKeyConfiguration,
  nowMs: number,
): UsagePlan {
  const quota = planQuota(key, nowMs);
  const { rateLimitTimeWindow: windowMs, rateLimitMax, lastRequest } = key;
  if (configuration.rateLimit?.enabled === false || key.rateLimitEnabled === false) {
    return { quota, counter: "touch" };
  }
  if (windowMs === null || rateLimitMax === null) return { quota, counter: "none" };
  if (lastRequest === null) return { quota, counter: "start" };
  const sinceMs = nowMs - lastRequest.getTime();
  if (sinceMs > windowMs) return { quota, counter: "start" };
  if ((key.requestCount ?? 0) < rateLimitMax) {
    // better-auth repeats the check at the end of a window until the next millisecond starts another
    return { quota, counter: sinceMs === windowMs ? "start" : "increment" };
  }
  const retryAfterSeconds = Math.max(1, Math.ceil((windowMs - sinceMs) / 1000));
  const refusal = new TooManyRequestsError("The API key has no requests left for now", {
    retryAfterSeconds,
  });
  return { quota, counter: "none", refusal };
}

function planQuota(key: ApiKeyRow, nowMs: number): QuotaStep {
  const { remaining, refillInterval, refillAmount } = key;
  if (remaining === null) return "none";
  const isRefilled = Boolean(refillInterval && refillAmount);
  const lastMs = (key.lastRefillAt ?? key.createdAt).getTime();
  const untilRefillMs = lastMs + (refillInterval ?? 0) - nowMs;
  if (isRefilled && untilRefillMs < 0) return "refill";
  if (remaining > 0) return "decrement";
  throw new TooManyRequestsError("The API key has no requests left", {
    retryAfterSeconds: isRefilled ? Math.ceil(untilRefillMs / 1000) : undefined,
  });
}
