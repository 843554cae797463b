import { getOptionalEnv } from "../env/mod.ts";
import { getSettings } from "../observability/mod.ts";
import { headerOf } from "./api_event.ts";
import type { ApiEvent } from "./lambda.ts";

/**
 * Which origins may read the responses: `*`, one origin, a list, or `false` for none whatever the environment says.
 */
export type CorsOption = string | readonly string[] | false;

/** No header at all. */
export const NO_CORS_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

/** What the environment says, where it stays as it is. */
let kept: readonly string[] | undefined;

/**
 * The CORS headers of a response (Fetch Standard, section 3.3). With several origins the request's own is answered
 * when it is in the list; `Vary` keeps caches from mixing them up.
 *
 * @param option The handler's option; when left out, `CORS_ALLOW_ORIGIN`, whose origins are separated by commas.
 * @returns Gives the headers for an event.
 */
export function corsHeadersFor(option: CorsOption | undefined): (event: ApiEvent) => Readonly<Record<string, string>> {
  if (option === false) return () => NO_CORS_HEADERS;
  const fixed = option === undefined ? undefined : typeof option === "string" ? [option] : option;
  return function corsHeaders(event: ApiEvent): Readonly<Record<string, string>> {
    const origins = fixed ?? kept ?? originsOfEnvironment();
    if (origins.length === 0) return NO_CORS_HEADERS;
    if (origins.length === 1 && origins[0] === "*") return ANY_ORIGIN;
    const origin = headerOf(event, "Origin", "origin");
    const allowed = origins.length === 1 ? origins[0] : origins.find((known) => known === origin);
    return allowed === undefined ? { Vary: "Origin" } : { "Access-Control-Allow-Origin": allowed, Vary: "Origin" };
  };
}

const ANY_ORIGIN: Readonly<Record<string, string>> = Object.freeze({ "Access-Control-Allow-Origin": "*" });

function originsOfEnvironment(): readonly string[] {
  const origins = (getOptionalEnv("CORS_ALLOW_ORIGIN") ?? "").split(",").map((origin) => origin.trim()).filter(Boolean);
  if (getSettings().fixed) kept = origins;
  return origins;
}
