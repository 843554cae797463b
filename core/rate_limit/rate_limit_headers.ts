import { TooManyRequestsError } from "../../errors/http_errors.ts";
import { metrics } from "../../observability/metrics.ts";
import type { RateLimitDecision, RateLimitRule } from "./rate_limit.ts";

/** Pages of other origins can read only headers that are listed here (Fetch Standard, section 3.3.3). */
const EXPOSED = "RateLimit, RateLimit-Policy, Retry-After";

/**
 * Returns the headers with the limit of a client: `RateLimit-Policy` and `RateLimit`
 * (draft-ietf-httpapi-ratelimit-headers-10, sections 3 and 4; structured fields of RFC 9651).
 *
 * @param policy Name of the limit.
 * @param rule The limit.
 * @param decision The decision on the request.
 */
export function toRateLimitHeaders(
  policy: string,
  { limit, windowSeconds }: RateLimitRule,
  { remaining, resetSeconds }: RateLimitDecision,
): Record<string, string> {
  const name = toStructuredString(policy);
  return {
    "RateLimit-Policy": `${name};q=${Math.floor(limit)};w=${Math.ceil(windowSeconds)}`,
    "RateLimit": `${name};r=${remaining};t=${resetSeconds}`,
    "Access-Control-Expose-Headers": EXPOSED,
  };
}

/** A string of structured fields has printable ASCII characters only (RFC 9651, section 3.3.3). */
function toStructuredString(text: string): string {
  return `"${text.replace(/[^ -~]/g, "?").replace(/["\\]/g, "\\$&")}"`;
}

/**
 * Creates the error for a refused request (429), and counts it in the metric `RateLimited`.
 *
 * @param policy Name of the limit, the metric's dimension.
 * @param rule The limit.
 * @param decision The decision on the request.
 */
export function refuseRequest(
  policy: string,
  rule: RateLimitRule,
  decision: RateLimitDecision,
): TooManyRequestsError {
  metrics.addMetricsWithDimensions({ policy: policy.slice(0, 200) || "unnamed" }, [[
    "RateLimited",
    "Count",
    1,
  ]]);
  return new TooManyRequestsError("Too many requests. Try again later", {
    retryAfterSeconds: decision.resetSeconds,
    headers: toRateLimitHeaders(policy, rule, decision),
  });
}
