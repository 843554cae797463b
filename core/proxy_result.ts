import { UnexpectedError } from "../errors/mod.ts";
import { type ApiEventSource, isAlbEvent } from "./api_event.ts";
import type { ApiEvent, ProxyResult } from "./lambda.ts";

/** Characters that would end a header and begin another one (response splitting), or the value. */
const UNSAFE_IN_HEADER = /[\0\r\n]/;

/**
 * Brings a handler's answer into the shape that the event's source wants: cookies and headers with several values
 * differ between REST API, HTTP API and load balancer. Adds headers, and takes line breaks out of header values.
 *
 * @param event The event that is answered.
 * @param source Where it comes from.
 * @param result What the handler returned.
 * @param extra Headers that every response has, such as the correlation id and CORS: known to be safe.
 * @returns A proxy result for that source.
 * @throws {UnexpectedError} When the handler returned something else than a proxy result.
 */
export function shapeResult(
  event: ApiEvent,
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
  if (source === "rest" && isShaped(result, extra)) return result;
  const headers = copyHeaders(result.headers, extra);
  for (const name in extra) if (headers[name] !== extra[name]) addHeader(headers, name, safeValue(extra[name]));
  const shaped: ProxyResult = { statusCode: result.statusCode, headers, body: result.body ?? "" };
  if (result.isBase64Encoded) shaped.isBase64Encoded = true;
  const several = severalValues(result, headers);
  if (source === "rest") {
    if (several !== undefined) shaped.multiValueHeaders = several;
  } else if (source === "http") shapeForHttpApi(shaped, several);
  else shapeForLoadBalancer(shaped, several, isAlbEvent(event) && !!event.multiValueHeaders);
  return shaped;
}

const MEMBERS = 3;

/** Whether a result is what `buildValidatedResponse` gives: status, body, and headers that need no second look. */
function isShaped(result: ProxyResult, extra: Readonly<Record<string, string>>): boolean {
  if (typeof result.body !== "string") return false;
  let missing = 0;
  for (const _ in extra) missing++;
  for (const name in result.headers) {
    const value = result.headers[name];
    if (value === extra[name]) missing--;
    else if (value !== "application/json") return false;
  }
  let members = 0;
  for (const _ in result) members++;
  return missing === 0 && members === MEMBERS;
}

/** The handler's headers; those that it took over from `extra` need no second look. */
function copyHeaders(own: SingleHeaders | undefined, extra: Readonly<Record<string, string>>): SingleHeaders {
  const headers: SingleHeaders = { ...own };
  for (const name in headers) {
    const value = headers[name];
    if (value !== extra[name] && typeof value === "string" && UNSAFE_IN_HEADER.test(value)) {
      headers[name] = safeValue(value);
    }
  }
  return headers;
}

function safeValue<V extends string | number | boolean>(value: V): V | string {
  return typeof value === "string" && UNSAFE_IN_HEADER.test(value) ? value.replace(/[\0\r\n]+/g, " ") : value;
}

function isProxyResult(result: ProxyResult | null): boolean {
  if (typeof result !== "object" || result === null) return false;
  const { statusCode, body } = result as { statusCode: unknown; body: unknown };
  return Number.isInteger(statusCode) && statusCode as number >= 100 && statusCode as number <= 599 &&
    (typeof body === "string" || body === undefined || body === null);
}

type SingleHeaders = Record<string, string | number | boolean>;

/** The handler's own header stays, whatever the case of its name; of `Vary` both are needed. */
function addHeader(headers: SingleHeaders, name: string, value: string): void {
  const own = headers[name] === undefined ? nameIn(headers, name) : name;
  if (own === undefined) headers[name] = value;
  else if (name === "Vary") headers[own] = addToVary(String(headers[own]), value);
}

function nameIn(headers: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const lowerCase = name.toLowerCase();
  return Object.keys(headers).find((key) => headers[key] !== undefined && key.toLowerCase() === lowerCase);
}

function addToVary(names: string, name: string): string {
  const known = names.toLowerCase().split(",").map((part) => part.trim());
  return known.includes("*") || known.includes(name.toLowerCase()) ? names : `${names}, ${name}`;
}

/** Headers with several values, cookies among them; `undefined` when there are none, as is usual. */
function severalValues(
  { multiValueHeaders, cookies }: ProxyResult,
  headers: SingleHeaders,
): Record<string, string[]> | undefined {
  if (multiValueHeaders === undefined && cookies === undefined) return undefined;
  const all: Record<string, string[]> = {};
  for (const name in multiValueHeaders) all[name] = multiValueHeaders[name].map((value) => String(safeValue(value)));
  // a cookie among the headers with one value stands beside the others, not in their place
  const single = nameIn(headers, "Set-Cookie");
  const later = (cookies ?? []).map((cookie) => String(safeValue(cookie)));
  if (single !== undefined || later.length > 0) {
    const name = nameIn(all, "Set-Cookie") ?? "Set-Cookie";
    all[name] = [...(single === undefined ? [] : [String(headers[single])]), ...all[name] ?? [], ...later];
    if (single !== undefined) delete headers[single];
  }
  return all;
}

/** Payload format 2.0: cookies in a list of their own, other headers joined. */
function shapeForHttpApi(shaped: ProxyResult, several: Record<string, string[]> | undefined): void {
  const cookies: string[] = [];
  for (const name in several) {
    if (name.toLowerCase() === "set-cookie") cookies.push(...several[name]);
    else shaped.headers![name] = several[name].join(", ");
  }
  for (const name of Object.keys(shaped.headers!)) {
    if (name.toLowerCase() !== "set-cookie") continue;
    cookies.unshift(String(shaped.headers![name]));
    delete shaped.headers![name];
  }
  if (cookies.length > 0) shaped.cookies = cookies;
}

/**
 * A target group reads either `headers` or `multiValueHeaders`, as it is set. Where it reads `headers`, several cookies
 * go under spellings of `Set-Cookie` that differ in case, since a name can stand there once.
 */
function shapeForLoadBalancer(
  shaped: ProxyResult,
  several: Record<string, string[]> | undefined,
  readsAllValues: boolean,
): void {
  const headers = shaped.headers!;
  if (readsAllValues) {
    shaped.multiValueHeaders = { ...several };
    for (const name in headers) shaped.multiValueHeaders[name] = [headers[name], ...several?.[name] ?? []];
    delete shaped.headers;
    return;
  }
  for (const name in several) {
    if (name.toLowerCase() === "set-cookie") {
      several[name].forEach((cookie, i) => headers[spellingOf("set-cookie", i)] = cookie);
    } else headers[name] = several[name].join(", ");
  }
}

/** The `i`th spelling of a lower-case name: the bits of `i` say which letters are in upper case. */
function spellingOf(name: string, i: number): string {
  let bit = 0;
  return name.replace(/[a-z]/g, (letter) => (i >> bit++) & 1 ? letter.toUpperCase() : letter);
}
