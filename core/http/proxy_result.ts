import { UnexpectedError } from "../../errors/http_errors.ts";
import { logWarn } from "../../observability/logger.ts";
import { type ApiEventSource, isAlbEvent } from "./api_event.ts";
import { CORRELATION_ID_HEADER } from "./correlation_id.ts";
import type { ProxyResult } from "./lambda.ts";

/** Characters that end a header and allow response splitting. */
const UNSAFE_IN_HEADER = /[\0\r\n]/;

/** Valid header names (RFC 9110, section 5.6.2). */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/**
 * Converts the result of a handler to the format of its gateway. Cookies differ between REST API, HTTP API and load
 * balancer. Adds headers, and removes line breaks from header values.
 *
 * @param event The event.
 * @param source The gateway of the event.
 * @param result The handler's result.
 * @param extra Headers of every response, such as the correlation id and CORS. They must be safe.
 * @returns The result in the format of the gateway.
 * @throws {UnexpectedError} If the handler did not return a proxy result.
 */
export function toGatewayResult(
  event: object,
  source: ApiEventSource,
  result: ProxyResult,
  extra: Readonly<Record<string, string>>,
): ProxyResult {
  if (!isProxyResult(result)) {
    throw new UnexpectedError(
      "The handler did not return a proxy result with a statusCode from 100 to 599 and a text as the body: return what " +
        "buildValidatedResponse gives",
    );
  }
  const headers = copyHeaders(result, extra);
  for (const name in extra) {
    if (headers[name] !== extra[name]) addHeader(headers, name, safeValue(extra[name]));
  }
  const { statusCode, isBase64Encoded } = result;
  const body = isWithoutBody(statusCode) ? "" : result.body ?? "";
  const shaped: ProxyResult = { statusCode, headers, body };
  if (isBase64Encoded && body !== "") shaped.isBase64Encoded = true;
  const cookies = listCookies(result);
  if (source === "alb") {
    shapeForLoadBalancer(shaped, cookies, isAlbEvent(event) && !!event.multiValueHeaders);
  } else if (cookies.length > 0) {
    if (source === "http") shaped.cookies = cookies;
    else shaped.multiValueHeaders = { [COOKIE]: cookies };
  }
  return shaped;
}

const COOKIE = "Set-Cookie";

/**
 * Copies the handler's headers without its cookies. Several values of one header are joined with commas (RFC 9110, section 5.2),
 * as HTTP APIs do, so that each gateway sends the same. Values that are equal to those in `extra` are safe.
 */
function copyHeaders(
  { headers: own, multiValueHeaders }: ProxyResult,
  extra: Readonly<Record<string, string>>,
): SingleHeaders {
  const headers: SingleHeaders = { ...own };
  for (const name in multiValueHeaders) {
    const known = nameIn(headers, name);
    const values = [...known === undefined ? [] : [headers[known]], ...multiValueHeaders[name]];
    // some handlers set a header in both forms
    const all = new Set(values.map(String));
    if (all.size > 0) headers[known ?? name] = [...all].join(", ");
  }
  for (const name in headers) {
    const value = headers[name];
    if (isCookie(name) || !isHeaderName(name)) delete headers[name];
    else if (value !== extra[name] && typeof value === "string" && UNSAFE_IN_HEADER.test(value)) {
      headers[name] = safeValue(value);
    }
  }
  return headers;
}

function isCookie(name: string): boolean {
  return name.length === COOKIE.length && name.toLowerCase() === "set-cookie";
}

/** Returns the cookies of a result, which a result can have in three places. */
function listCookies({ headers, multiValueHeaders, cookies = [] }: ProxyResult): string[] {
  const values: (string | number | boolean)[] = [];
  for (const name in headers) {
    if (isCookie(name) && headers[name] !== undefined) values.push(headers[name]);
  }
  for (const name in multiValueHeaders) {
    if (isCookie(name)) values.push(...multiValueHeaders[name]);
  }
  values.push(...cookies);
  return values.map((each) => String(safeValue(each)));
}

/** Checks the name of a header. Gateways reject a response with an invalid name, so the header is omitted. */
function isHeaderName(name: string): boolean {
  if (HEADER_NAME.test(name)) return true;
  logWarn("a header was left out: its name has characters that no header's name may have", {
    name,
  });
  return false;
}

function safeValue<V extends string | number | boolean>(value: V): V | string {
  return typeof value === "string" && UNSAFE_IN_HEADER.test(value)
    ? value.replace(/[\0\r\n]+/g, " ")
    : value;
}

function isProxyResult(result: ProxyResult | null): boolean {
  if (typeof result !== "object" || result === null) return false;
  const { statusCode, body } = result as { statusCode: unknown; body: unknown };
  return Number.isInteger(statusCode) && (statusCode as number) >= 100 &&
    (statusCode as number) <= 599 &&
    (typeof body === "string" || body === undefined || body === null);
}

/** Checks for a status whose responses have no body (RFC 9110, sections 15.2, 15.3.5, 15.3.6 and 15.4.5). */
export function isWithoutBody(status: number): boolean {
  return status < 200 || status === 204 || status === 205 || status === 304;
}

type SingleHeaders = Record<string, string | number | boolean>;

/**
 * Adds a header unless the handler has set it, in any case. Values of `Vary` are combined. The correlation id is always
 * replaced, because a handler may return the response of another service.
 */
function addHeader(headers: SingleHeaders, name: string, value: string): void {
  const own = headers[name] === undefined ? nameIn(headers, name) : name;
  if (own === undefined) headers[name] = value;
  else if (name === CORRELATION_ID_HEADER) headers[own] = value;
  else if (name === "Vary") headers[own] = addToVary(String(headers[own]), value);
}

/** Returns the spelling of a header among others, if it has a value. */
export function nameIn(
  headers: Readonly<Record<string, unknown>>,
  name: string,
): string | undefined {
  const lowerCase = name.toLowerCase();
  return Object.keys(headers).find((key) =>
    headers[key] !== undefined && key.toLowerCase() === lowerCase
  );
}

/** Adds a name to the value of `Vary`. */
export function addToVary(names: string, name: string): string {
  const known = names.toLowerCase().split(",").map((part) => part.trim());
  return known.includes("*") || known.includes(name.toLowerCase()) ? names : `${names}, ${name}`;
}

/**
 * A target group reads either `headers` or `multiValueHeaders`, depending on its settings. In `headers` a name can occur
 * only once, so each further cookie uses another spelling of `Set-Cookie`.
 */
function shapeForLoadBalancer(
  shaped: ProxyResult,
  cookies: readonly string[],
  readsAllValues: boolean,
): void {
  const headers = shaped.headers!;
  if (!readsAllValues) {
    cookies.forEach((cookie, i) => headers[getSpelling(COOKIE.toLowerCase(), i)] = cookie);
    return;
  }
  shaped.multiValueHeaders = cookies.length > 0 ? { [COOKIE]: [...cookies] } : {};
  for (const name in headers) shaped.multiValueHeaders[name] = [headers[name]];
  delete shaped.headers;
}

/** Returns the `i`th spelling of a lower-case name: the bits of `i` select the letters in upper case. */
function getSpelling(name: string, i: number): string {
  let bit = 0;
  return name.replace(/[a-z]/g, (letter) => (i >> bit++) & 1 ? letter.toUpperCase() : letter);
}
