import { getHeader, getMethod } from "./api_event.ts";
import type { ApiEvent, ProxyResult } from "./lambda.ts";

/** A list of header names (RFC 9110, section 5.6.1 and 5.6.2). */
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~, -]*$/;

/** Checks for a CORS preflight request (Fetch Standard, section 4.8). */
export function isPreflight(event: ApiEvent): boolean {
  return getMethod(event) === "OPTIONS" && getRequestedMethod(event) !== undefined;
}

/**
 * Builds the response to a preflight request. It allows the requested method and headers, because
 * the function checks the request itself. Without `Access-Control-Allow-Origin` a browser refuses it.
 *
 * @param event The event of the preflight request.
 * @param corsHeaders CORS headers of the function's responses.
 * @returns A response without a body.
 */
export function buildPreflightResponse(
  event: ApiEvent,
  corsHeaders: Readonly<Record<string, string>>,
): ProxyResult {
  const headers: Record<string, string> = {
    ...corsHeaders,
    Vary: "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
  };
  if ("Access-Control-Allow-Origin" in corsHeaders) {
    const names = getHeader(event, "Access-Control-Request-Headers") ?? "";
    headers["Access-Control-Allow-Methods"] = getRequestedMethod(event) ?? "";
    if (names !== "" && HEADER_NAMES.test(names)) headers["Access-Control-Allow-Headers"] = names;
    headers["Access-Control-Max-Age"] = "600";
  }
  return { statusCode: 204, headers, body: "" };
}

function getRequestedMethod(event: ApiEvent): string | undefined {
  const method = getHeader(event, "Access-Control-Request-Method");
  return method !== undefined && /^[A-Z]+$/.test(method) ? method : undefined;
}

/** Answers a preflight request without calling the handler. */
export type PreflightResponder = (
  event: ApiEvent,
) => ProxyResult | undefined | Promise<ProxyResult | undefined>;

/** Registered globally, because the functions of a project are bundled with their own copy. */
const PREFLIGHT = Symbol.for("@trellis/fn.preflight");

/**
 * Attaches the preflight response of a function, for gateways of local servers.
 *
 * @param handler The Lambda handler.
 * @param respond Answers a preflight request; `undefined` if the function has no CORS headers.
 * @returns The handler.
 */
export function withPreflight<H extends object>(handler: H, respond: PreflightResponder): H {
  return Object.defineProperty(handler, PREFLIGHT, { value: respond });
}

/**
 * Returns the preflight response of a function.
 *
 * @param handler The Lambda handler.
 * @returns The function that {@link withPreflight} attached, if there is one.
 */
export function getPreflightResponder(handler: object): PreflightResponder | undefined {
  return (handler as { [PREFLIGHT]?: PreflightResponder })[PREFLIGHT];
}
