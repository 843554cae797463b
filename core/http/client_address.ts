import { getOptionalEnv } from "../../env/get_env.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { getHeader, isAlbEvent, isHttpApiEvent } from "./api_event.ts";
import type { ApiEvent } from "./lambda.ts";
import { timingSafeEqual } from "./timing_safe_equal.ts";

/** A secret that a header can carry as one word. */
const SECRET = /^[!-~]{16,}$/;

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
 * @returns The IP address without the port, or `undefined` where the event has none.
 * @throws {ConfigurationError} When `ORIGIN_VERIFY_SECRET` has a value below 16 characters or with
 * spaces.
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
export function getClientAddress(event: ApiEvent): string | undefined {
  const viewer = isFromCdn(event) ? readViewerAddress(event) : undefined;
  return viewer ?? readGatewayAddress(event);
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

let parsed: { readonly text: string; readonly secrets: readonly string[] } | undefined;

function readOriginSecrets(): readonly string[] {
  const text = getOptionalEnv("ORIGIN_VERIFY_SECRET") ?? "";
  if (parsed?.text !== text) parsed = { text, secrets: parseSecrets(text) };
  return parsed.secrets;
}

function parseSecrets(text: string): string[] {
  if (text === "") return [];
  const secrets = text.split(",").map((secret) => secret.trim());
  const position = secrets.findIndex((secret) => !SECRET.test(secret)) + 1;
  if (position === 0) return secrets;
  throw new ConfigurationError(
    `Value ${position} of ${secrets.length} in the environment variable ORIGIN_VERIFY_SECRET must be ` +
      "at least 16 printable ASCII characters without spaces: the same as origin_secret of the " +
      "cdn-api module",
  );
}

/** CloudFront writes the port behind the address, also behind one of IPv6: `2001:db8::1:46532`. */
function readViewerAddress(event: ApiEvent): string | undefined {
  return readAddress(
    /^(.+):\d{1,5}$/.exec(getHeader(event, "CloudFront-Viewer-Address") ?? "")?.[1],
  );
}

/** A load balancer can be set to write the port, and then puts an address of IPv6 into brackets. */
function readForwardedAddress(event: ApiEvent): string | undefined {
  const last = getHeader(event, "X-Forwarded-For")?.split(",").at(-1)?.trim();
  return readAddress(last?.replace(/^([\d.]+|\[[^\]]*\]):\d{1,5}$/, "$1"));
}

const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|[\da-f]{0,4}:[\da-f:.]{1,43})$/i;

function readAddress(text: string | undefined): string | undefined {
  const address = text?.replace(/^\[(.*)\]$/, "$1");
  return address !== undefined && ADDRESS.test(address) ? address : undefined;
}
