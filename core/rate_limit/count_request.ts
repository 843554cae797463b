import { type ClientAddressSource, getClientAddress } from "../http/client_address.ts";
import { getAddressPrefix } from "../http/ip_address.ts";
import type { ApiEvent, RestApiEvent } from "../http/lambda.ts";
import type { RateLimitStore } from "./rate_limit.ts";
import { refuseRequest, toRateLimitHeaders } from "./rate_limit_headers.ts";
import {
  type RateLimitOptions,
  type RateLimitRequest,
  type RequestLimits,
  setRateLimitHeaders,
} from "./request_limits.ts";

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
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  return `sha-256|${
    Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("")
  }`;
}
