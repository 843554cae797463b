import { getOptionalEnv } from "../../env/get_env.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { getHeader, isAlbEvent, isHttpApiEvent } from "./api_event.ts";
import { type AddressBlock, isInBlock, parseAddressBlock, parseIpAddress } from "./ip_address.ts";
import type { ApiEvent } from "./lambda.ts";
import { timingSafeEqual } from "./timing_safe_equal.ts";

/** A secret that a header can carry as one word. */
const SECRET = /^[!-~]{16,}$/;

/**
 * Where the client's address comes from.
 *
 * - `"gateway"`: the address that connected to the gateway, or to the CDN in front of it if
 *   `ORIGIN_VERIFY_SECRET` is set (see {@link getClientAddress}).
 * - `"cloudfront-viewer-address"`: the same, and a missing `ORIGIN_VERIFY_SECRET` is a
 *   `ConfigurationError`.
 * - `header`: a header in which your proxies list addresses, such as `X-Forwarded-For`. It is
 *   read from its end and only as far as the addresses before it are in `trustedProxies` (addresses
 *   or blocks such as `10.0.0.0/8`), beginning with the proxy that connected to the gateway.
 */
export type ClientAddressSource =
  | "gateway"
  | "cloudfront-viewer-address"
  | { readonly header: string; readonly trustedProxies: readonly string[] };

/**
 * Returns the address that a request comes from: what limits by address must count by. It never
 * comes from a header that the client can set.
 *
 * Behind the cdn-api module the gateway only sees CloudFront. Set the environment variable
 * `ORIGIN_VERIFY_SECRET` to the module's `origin_secret` (several separated by commas while one is
 * being replaced): a request with that secret in `X-Origin-Verify` came through the CDN, and then
 * CloudFront's header `CloudFront-Viewer-Address` counts. Any other request has the address that
 * the gateway saw; behind a load balancer that is the last entry of `X-Forwarded-For`, which the
 * load balancer adds.
 *
 * @param event The event.
 * @param source Where the address comes from.
 * @returns The IP address without the port, or `undefined` where the event has none.
 * @throws {ConfigurationError} When `ORIGIN_VERIFY_SECRET` has a value below 16 characters or with
 * spaces, or `source` is invalid.
 *
 * @example
 * ```ts
 * import { getClientAddress } from "@trellis/fn/core";
 * import { createHttpApiEvent } from "@trellis/fn/testing";
 *
 * const event = createHttpApiEvent({ headers: { "x-forwarded-for": "198.51.100.7" } }); // what a client claims
 * console.log(getClientAddress(event) === event.requestContext.http.sourceIp); // true
 * ```
 */
export function getClientAddress(
  event: ApiEvent,
  source: ClientAddressSource = "gateway",
): string | undefined {
  if (typeof source === "object") return readProxyAddress(event, source);
  if (source === "cloudfront-viewer-address") checkClientAddressSource(source);
  const viewer = isFromCdn(event) ? readViewerAddress(event) : undefined;
  return viewer ?? readGatewayAddress(event);
}

/**
 * Checks a configured source.
 *
 * @param source The setting.
 * @throws {ConfigurationError} If it is invalid. The message says what to write.
 */
export function checkClientAddressSource(source: unknown): void {
  if (source === "gateway") return;
  if (source === "cloudfront-viewer-address") {
    if (readOriginSecrets().length > 0) return;
    throw new ConfigurationError(
      'clientAddress is "cloudfront-viewer-address", but the environment variable ORIGIN_VERIFY_SECRET ' +
        "is not set, so clients could set that header: set it to origin_secret of the cdn-api module",
    );
  }
  const { header, trustedProxies } = Object(source) as Record<string, unknown>;
  const isComplete = typeof header === "string" && HEADER_NAME.test(header) &&
    Array.isArray(trustedProxies) && trustedProxies.length > 0;
  if (!isComplete) {
    throw new ConfigurationError(
      `clientAddress is ${
        JSON.stringify(source)
      }: it must be "gateway", "cloudfront-viewer-address" or ` +
        '{ header, trustedProxies } such as { header: "X-Forwarded-For", trustedProxies: ["10.0.0.0/8"] }',
    );
  }
  parseProxies(trustedProxies as string[]);
}

const HEADER_NAME = /^[\w-]+$/;

function parseProxies(texts: readonly string[]): readonly AddressBlock[] {
  return texts.map((text) => {
    const block = parseAddressBlock(String(text));
    if (block !== undefined) return block;
    throw new ConfigurationError(
      `clientAddress.trustedProxies has ${
        JSON.stringify(text)
      }: it must have addresses or blocks such as "10.0.0.0/8" or "2001:db8::/32"`,
    );
  });
}

/**
 * Follows the addresses in a header from the gateway towards the client, while they belong to
 * trusted proxies. An invalid entry ends the list.
 */
function readProxyAddress(
  event: ApiEvent,
  { header, trustedProxies }: Exclude<ClientAddressSource, string>,
): string | undefined {
  const blocks = parseProxies(trustedProxies);
  let address = readGatewayAddress(event);
  const entries = (getHeader(event, header) ?? "").split(",").map((entry) =>
    readAddress(withoutPort(entry.trim()))
  );
  while (address !== undefined && isTrustedProxy(address, blocks)) {
    const next = entries.pop();
    if (next === undefined) break;
    address = next;
  }
  return address;
}

function isTrustedProxy(address: string, blocks: readonly AddressBlock[]): boolean {
  const bytes = parseIpAddress(address);
  return bytes !== undefined && blocks.some((block) => isInBlock(block, bytes));
}

function readGatewayAddress(event: ApiEvent): string | undefined {
  if (isHttpApiEvent(event)) return event.requestContext?.http?.sourceIp;
  if (isAlbEvent(event)) return readForwardedAddress(event);
  return event.requestContext?.identity?.sourceIp;
}

function isFromCdn(event: ApiEvent): boolean {
  const secrets = readOriginSecrets();
  const given = secrets.length === 0 ? undefined : getHeader(event, "X-Origin-Verify");
  if (given === undefined) return false;
  let matches = false;
  for (const secret of secrets) matches = timingSafeEqual(given, secret) || matches;
  return matches;
}

function readOriginSecrets(): readonly string[] {
  const text = getOptionalEnv("ORIGIN_VERIFY_SECRET");
  if (text === undefined) return [];
  const secrets = text.split(",").map((secret) => secret.trim());
  const position = secrets.findIndex((secret) => !SECRET.test(secret)) + 1;
  if (position === 0) return secrets;
  throw new ConfigurationError(
    `Value ${position} of ${secrets.length} in the environment variable ORIGIN_VERIFY_SECRET must be ` +
      "at least 16 printable ASCII characters without spaces: the same as origin_secret of the " +
      "cdn-api module",
  );
}

/** CloudFront writes the port after the address, also after an IPv6 address: `2001:db8::1:46532`. */
function readViewerAddress(event: ApiEvent): string | undefined {
  return readAddress(
    /^(.+):\d{1,5}$/.exec(getHeader(event, "CloudFront-Viewer-Address") ?? "")?.[1],
  );
}

/** A load balancer can be set to write the port, and then puts an address of IPv6 into brackets. */
function readForwardedAddress(event: ApiEvent): string | undefined {
  const last = getHeader(event, "X-Forwarded-For")?.split(",").at(-1)?.trim();
  return last === undefined ? undefined : readAddress(withoutPort(last));
}

function withoutPort(text: string): string {
  return text.replace(/^([\d.]+|\[[^\]]*\]):\d{1,5}$/, "$1");
}

function readAddress(text: string | undefined): string | undefined {
  const address = text?.replace(/^\[(.*)\]$/, "$1");
  return address !== undefined && parseIpAddress(address) !== undefined ? address : undefined;
}
