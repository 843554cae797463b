import { getOptionalEnv } from "../../env/get_env.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { getHeader } from "./api_event.ts";
import type { ApiEvent } from "./lambda.ts";

/** Origins whose pages may send cookies and read the responses. */
export interface CredentialedOrigins {
  /** The origins, such as `["https://app.example.com"]`. `*` is refused, as browsers refuse it. */
  origins: readonly string[];
  /** Sends `Access-Control-Allow-Credentials: true`. */
  credentials: true;
}

/**
 * Origins that may read the responses: `*`, one origin, a list, a list whose pages may send cookies too, or `false` for none,
 * even if the environment lists some.
 */
export type CorsOption = string | readonly string[] | CredentialedOrigins | false;

/** No header at all. */
export const NO_CORS_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

/** The headers for a page that may not read the response, while others may. */
const OTHER_ORIGIN: Readonly<Record<string, string>> = Object.freeze({ Vary: "Origin" });

/** An origin as browsers send it (RFC 6454, section 6.2): scheme, host and port, no path and no slash at the end. */
const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^\s/,*?#]+$/i;

/** Checks whether a value is a {@link CorsOption}. */
export function isCorsOption(value: unknown): boolean {
  if (value === false || value === "*") return true;
  const origins = isCredentialed(value)
    ? value.credentials === true && Object.keys(value).length === 2 && value.origins
    : [value].flat();
  return Array.isArray(origins) && origins.length > 0 &&
    origins.every((origin) => typeof origin === "string" && ORIGIN.test(origin));
}

function isCredentialed(value: unknown): value is CredentialedOrigins {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Checks whether the page of a request may send cookies. */
export type TrustedOriginCheck = (event: ApiEvent, origin: string) => boolean;

let isTrusted: TrustedOriginCheck | undefined;

/**
 * Registers which origins may send requests with cookies. Their responses allow credentials, unless
 * a handler has `cors: false`. `auth` fills this slot with the trusted origins of its configuration.
 *
 * @param check The check, or `undefined` to empty the slot.
 */
export function setTrustedOriginCheck(check: TrustedOriginCheck | undefined): void {
  isTrusted = check;
}

/** Returns whether the page of a request may send cookies; false if no trusted origins are registered. */
export function isTrustedPage(event: ApiEvent, origin: string): boolean {
  return isTrusted?.(event, origin) ?? false;
}

/**
 * The CORS headers of a response (Fetch Standard, section 3.3). With several origins the request's own is answered
 * when it is in the list; `Vary` keeps caches from mixing them up.
 *
 * @param option The handler's option; when left out, `CORS_ALLOW_ORIGIN`, whose origins are separated by commas.
 * @param trust Checks whether a page may send cookies; `null` if none may. Without it, {@link setTrustedOriginCheck} decides.
 * @returns Gives the headers for an event. It throws `ConfigurationError` if the variable was changed to something invalid.
 * @throws {ConfigurationError} When `CORS_ALLOW_ORIGIN` is neither `*` nor a list of origins.
 */
export function createCorsHeaders(
  option: CorsOption | undefined,
  trust?: TrustedOriginCheck | null,
): (event: ApiEvent) => Readonly<Record<string, string>> {
  if (option === false) return () => NO_CORS_HEADERS;
  const credentialed = isCredentialed(option) ? option.origins : undefined;
  const fixed = typeof option === "string" ? [option] : credentialed ?? option as readonly string[];
  if (fixed === undefined) readOriginsOfEnvironment();
  return function corsHeaders(event: ApiEvent): Readonly<Record<string, string>> {
    const origins = fixed ?? readOriginsOfEnvironment();
    const trusts = trust === undefined ? isTrusted : trust ?? undefined;
    if (origins.length === 0 && trusts === undefined) return NO_CORS_HEADERS;
    const origin = getHeader(event, "Origin", "origin");
    if (origin !== undefined && (credentialed?.includes(origin) || trusts?.(event, origin))) {
      return allowCredentials(origin);
    }
    if (credentialed !== undefined) return OTHER_ORIGIN;
    if (origins.length === 1 && origins[0] === "*") {
      return trusts === undefined ? ANY_ORIGIN : ANY_OTHER_ORIGIN;
    }
    const allowed = origins.length === 1 ? origins[0] : origins.find((known) => known === origin);
    return allowed === undefined
      ? OTHER_ORIGIN
      : { "Access-Control-Allow-Origin": allowed, Vary: "Origin" };
  };
}

const ANY_ORIGIN: Readonly<Record<string, string>> = Object.freeze({
  "Access-Control-Allow-Origin": "*",
});

const ANY_OTHER_ORIGIN: Readonly<Record<string, string>> = Object.freeze({
  ...ANY_ORIGIN,
  Vary: "Origin",
});

/**
 * Returns the CORS headers for an origin whose pages may send cookies.
 *
 * @param origin The request's origin.
 */
export function allowCredentials(origin: string): Readonly<Record<string, string>> {
  return {
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Allow-Credentials": "true",
    Vary: "Origin",
  };
}

/**
 * Returns the CORS headers of an error response.
 *
 * @param corsHeaders Gives the headers for an event.
 * @param event The event.
 * @returns No headers if the error is that they cannot be made.
 */
export function getErrorCorsHeaders(
  corsHeaders: (event: ApiEvent) => Readonly<Record<string, string>>,
  event: ApiEvent,
): Readonly<Record<string, string>> {
  try {
    return corsHeaders(event);
  } catch {
    return NO_CORS_HEADERS;
  }
}

function readOriginsOfEnvironment(): readonly string[] {
  const text = getOptionalEnv("CORS_ALLOW_ORIGIN") ?? "";
  const origins = text.split(",").map((origin) => origin.trim()).filter(Boolean);
  if (origins.length > 0 && !isCorsOption(origins.length === 1 ? origins[0] : origins)) {
    throw new ConfigurationError(
      `The environment variable CORS_ALLOW_ORIGIN is ${
        JSON.stringify(text.slice(0, 80))
      }: it must be * or origins such as ` +
        "https://example.com, separated by commas, without a path",
    );
  }
  return origins;
}
