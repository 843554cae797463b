import { TooManyRequestsError } from "../../errors/http_errors.ts";
import { addOccurrences } from "../../observability/metrics.ts";
import { sha256, toHex } from "../digest.ts";
import { type ClientAddressSource, getClientAddress } from "../http/client_address.ts";
import { getAddressPrefix } from "../http/ip_address.ts";
import type { ApiEvent, RestApiEvent } from "../http/lambda.ts";
import {
  type RateLimitDecision,
  type RateLimitOptions,
  type RateLimitRequest,
  type RateLimitRule,
  type RateLimitStore,
  type RequestLimits,
  setRateLimitHeaders,
} from "./rate_limit.ts";

/**
 * Creates the function that counts the requests of handlers.
 *
 * @param getStore Returns the store.
 * @param source Where the client's address comes from.
 */
export function createRequestLimits(
  getStore: () => Promise<RateLimitStore>,
  source: ClientAddressSource | undefined,
): RequestLimits {
  async function count(
    request: RateLimitRequest,
    options: RateLimitOptions,
    operationName: string,
  ): Promise<void> {
    const key = findKey(request, options.by, source);
    if (key === undefined) return;
    const policy = options.name ?? operationName;
    const decision = await (await getStore()).take(`api|${policy}|${await shorten(key)}`, options);
    if (!decision.allowed) throw refuseRequest(policy, options, decision);
    setRateLimitHeaders(request.event, toRateLimitHeaders(policy, options, decision));
  }

  return async function limitRequest(event, authenticate, options, operationName) {
    const isEarly = options.by === "address";
    if (isEarly) await count({ event }, options, operationName);
    const identity = await authenticate(event);
    if (!isEarly) await count({ event, ...identity }, options, operationName);
    return identity;
  };
}

function findKey(
  request: RateLimitRequest,
  by: RateLimitOptions["by"],
  source: ClientAddressSource | undefined,
): string | undefined {
  if (typeof by === "function") {
    const key = by(request);
    return key === undefined ? undefined : `custom|${key}`;
  }
  if (by === "user" && request.userId !== undefined) return `user|${request.userId}`;
  if (by === "api-key") {
    const id = request.apiKey?.id ?? getGatewayKey(request.event);
    if (id !== undefined) return `api-key|${id}`;
  }
  const address = getClientAddress(request.event, source);
  return `address|${address === undefined ? "unknown" : getAddressPrefix(address)}`;
}

/** Returns the id of the API key of a REST API's usage plan, which the gateway has checked. */
function getGatewayKey(event: ApiEvent): string | undefined {
  const { identity } = (event as RestApiEvent).requestContext ?? {};
  const { apiKeyId } = Object(identity) as { apiKeyId?: unknown };
  return typeof apiKeyId === "string" ? apiKeyId : undefined;
}

/** Longest key that is stored without hashing it. */
const MAX_KEY = 200;

/** Replaces a long key by its SHA-256, because indexes limit the length. */
async function shorten(key: string): Promise<string> {
  if (key.length <= MAX_KEY) return key;
  return `sha-256|${toHex(await sha256(key))}`;
}

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
  addOccurrences({ policy: policy.slice(0, 200) || "unnamed" }, [[
    "RateLimited",
    "Count",
    1,
  ]]);
  return new TooManyRequestsError("Too many requests. Try again later", {
    retryAfterSeconds: decision.resetSeconds,
    headers: toRateLimitHeaders(policy, rule, decision),
  });
}
