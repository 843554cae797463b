import { type Clock, systemClock } from "../../core/async/clock.ts";
import { getPath, getQuery, stripStage } from "../../core/http/api_event.ts";
import { decodePercent } from "../../core/http/percent_encoding.ts";
import { encodeBase64Url } from "../../core/http/base64.ts";
import { timingSafeEqual } from "../../core/http/timing_safe_equal.ts";
import type { ApiEvent } from "../../core/http/lambda.ts";
import { ConfigurationError, ForbiddenError } from "../../errors/http_errors.ts";

/** Options of {@link verifySignedLink}. */
export interface SignedLinkOptions {
  /** What the link is for: `invoice-download`. A link for another purpose is refused, because each has its own key. */
  purpose: string;
  /** At least 32 characters, for example `AUTH_SECRET`. Several during a rotation: the first signs, all are accepted. */
  secret: string | readonly string[];
  /**
   * Clock of a test.
   * @default systemClock
   */
  clock?: Clock;
}

/** Options of {@link createSignedLink}. */
export interface CreateSignedLinkOptions extends SignedLinkOptions {
  /** Seconds until the link expires, 1 to 31,536,000 (a year). */
  expiresInSeconds: number;
}

const EXPIRES = "expires", SIGNATURE = "signature";
const MIN_SECRET = 32, MAX_SECONDS = 365 * 24 * 60 * 60;

/**
 * Signs a link that works without a session until it expires, such as a download in a mail. The signature covers the path
 * and all parameters of the query (HMAC-SHA256), not the host. Anyone with the link can use it, any number of times.
 *
 * @param url An absolute URL or a path: `https://api.example.com/invoices/i1/file` or `/invoices/i1/file`.
 * @param options Purpose, secret and lifetime.
 * @returns The link, with the parameters `expires` (epoch seconds) and `signature`.
 * @throws {ConfigurationError} If the secret is short, the lifetime is out of range, or the URL cannot be signed.
 *
 * @example
 * ```ts
 * import { createSignedLink, verifySignedLink } from "@trellis/fn/auth";
 * import { createRestApiEvent } from "@trellis/fn/testing";
 *
 * const options = { purpose: "invoice-download", secret: "a secret of at least 32 characters" };
 * const link = await createSignedLink("/invoices/i1/file", { ...options, expiresInSeconds: 3600 });
 *
 * const { pathname: path, searchParams } = new URL(link, "https://api.example.com");
 * const event = createRestApiEvent({ path, query: Object.fromEntries(searchParams) });
 * await verifySignedLink(event, options); // throws a ForbiddenError (403) if it is forged or expired
 * ```
 */
export async function createSignedLink(
  url: string | URL,
  options: CreateSignedLinkOptions,
): Promise<string> {
  const { expiresInSeconds, clock = systemClock } = options;
  if (!(expiresInSeconds >= 1 && expiresInSeconds <= MAX_SECONDS)) {
    throw new ConfigurationError(
      `expiresInSeconds must be from 1 to ${MAX_SECONDS}, got ${expiresInSeconds}`,
    );
  }
  const secrets = checkOptions(options);
  const isPath = typeof url === "string" && /^\/(?!\/)/.test(url);
  const link = new URL(url, isPath ? "https://path.invalid" : undefined);
  if (link.searchParams.has(EXPIRES) || link.searchParams.has(SIGNATURE)) {
    throw new ConfigurationError(
      `A link to sign must not have the parameters ${EXPIRES} and ${SIGNATURE}`,
    );
  }
  const segments = readSegments(link.pathname);
  if (segments.some((segment) => /[/%]/.test(segment))) {
    throw new ConfigurationError(
      "A link to sign must not have %2F or %25 in its path: gateways decode them",
    );
  }
  const expires = String(Math.floor(clock.now() / 1000) + Math.ceil(expiresInSeconds));
  link.searchParams.set(EXPIRES, expires);
  const text = toText(segments, [...link.searchParams]);
  link.searchParams.set(SIGNATURE, await sign(text, secrets[0], options.purpose));
  return isPath ? link.href.slice(link.origin.length) : link.href;
}

/**
 * Checks the signature and the lifetime of a link from {@link createSignedLink}.
 *
 * @param request The event of the request, or its URL.
 * @param options Purpose and secret.
 * @throws {ForbiddenError} If the link is forged, changed, for another purpose, or expired (403).
 * @throws {ConfigurationError} If the secret is short.
 */
export async function verifySignedLink(
  request: ApiEvent | URL | string,
  options: SignedLinkOptions,
): Promise<void> {
  const secrets = checkOptions(options);
  const { paths, query } = readRequest(request);
  const value = (wanted: string) => query.find(([name]) => name === wanted)?.[1] ?? "";
  const signed = query.filter(([name]) => name !== SIGNATURE);
  const texts = paths.map((path) => toText(readSegments(path), signed));
  const expected = await Promise.all(
    secrets.flatMap((secret) => texts.map((text) => sign(text, secret, options.purpose))),
  );
  const matches = expected.map((signature) => timingSafeEqual(value(SIGNATURE), signature));
  if (!matches.includes(true)) throw new ForbiddenError("The link is not valid");
  const { clock = systemClock } = options;
  if (clock.now() >= Number(value(EXPIRES)) * 1000) {
    throw new ForbiddenError("The link has expired");
  }
}

function checkOptions({ purpose, secret }: SignedLinkOptions): readonly string[] {
  const secrets = typeof secret === "string" ? [secret] : secret;
  if (purpose === "" || secrets.length === 0 || secrets.some((each) => each.length < MIN_SECRET)) {
    throw new ConfigurationError(
      `A signed link needs a purpose and a secret of at least ${MIN_SECRET} characters`,
    );
  }
  return secrets;
}

type Query = readonly (readonly [name: string, value: string])[];

/** Returns the paths that a client may have called: gateways add or remove the name of a stage. */
function readRequest(request: ApiEvent | URL | string): { paths: string[]; query: Query } {
  if (typeof request === "string" || request instanceof URL) {
    const { pathname, searchParams } = new URL(request, "https://path.invalid");
    return { paths: [pathname], query: [...searchParams] };
  }
  const query = [...getQuery(request)].flatMap(([name, values]) =>
    values.map((value) => [name, value] as const)
  );
  const path = getPath(request);
  // a REST API has the stage in this path only
  const { path: full = path } = request.requestContext as { path?: string };
  return { paths: [...new Set([path, stripStage(request, path), full])], query };
}

/** Returns the decoded parts of a path. HTTP APIs have decoded it already. */
function readSegments(path: string): string[] {
  return path.split("/").map(decodePercent);
}

/** Returns the signed text: the path, and the parameters in an order that gateways keep. */
function toText(segments: readonly string[], query: Query): string {
  const parameters = query.map((parameter) => JSON.stringify(parameter)).sort();
  return JSON.stringify([segments, parameters]);
}

/** Signs a text with the key of a purpose (HKDF, RFC 5869), in base64url. */
async function sign(text: string, secret: string, purpose: string): Promise<string> {
  const encoder = new TextEncoder();
  const base = await crypto.subtle.importKey("raw", encoder.encode(secret), "HKDF", false, [
    "deriveBits",
  ]);
  const info = encoder.encode(`trellis signed link: ${purpose}`);
  const bits = await crypto.subtle.deriveBits(
    { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info },
    base,
    256,
  );
  const key = await crypto.subtle.importKey("raw", bits, { name: "HMAC", hash: "SHA-256" }, false, [
    "sign",
  ]);
  const signature = await crypto.subtle.sign("HMAC", key, encoder.encode(text));
  return encodeBase64Url(new Uint8Array(signature));
}
