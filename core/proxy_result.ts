import { UnexpectedError } from "../errors/mod.ts";
import { type ApiEventSource, isAlbEvent } from "./api_event.ts";
import type { ApiEvent, ProxyResult } from "./lambda.ts";

/** Characters that would end a header and begin another one (response splitting), or the value. */
// deno-lint-ignore no-control-regex
const UNSAFE_IN_HEADER = /[\0\r\n]/;

/**
 * Brings a handler's answer into the shape that the event's source wants: cookies and headers with several values
 * differ between REST API, HTTP API and load balancer. Adds headers, and takes line breaks out of header values.
 *
 * @param event The event that is answered.
 * @param source Where it comes from.
 * @param result What the handler returned.
 * @param extra Headers that every response has, such as the correlation id and CORS.
 * @returns A proxy result for that source.
 * @throws {UnexpectedError} When the handler returned something else than a proxy result.
 */
export function shapeResult(
  event: ApiEvent,
  source: ApiEventSource,
  result: ProxyResult,
  extra: Readonly<Record<string, string>>,
): ProxyResult {
  if (typeof result !== "object" || result === null || !Number.isInteger(result.statusCode)) {
    throw new UnexpectedError(
      "The handler did not return a proxy result with a statusCode: return what buildValidatedResponse gives",
    );
  }
  const headers: Record<string, string | number | boolean> = {};
  for (const name in result.headers) headers[name] = safeValue(result.headers[name]);
  for (const name in extra) headers[name] ??= safeValue(extra[name]);
  const shaped: ProxyResult = { statusCode: result.statusCode, headers, body: result.body ?? "" };
  if (result.isBase64Encoded) shaped.isBase64Encoded = true;
  const several = severalValues(result);
  if (source === "rest") {
    if (several !== undefined) shaped.multiValueHeaders = several;
  } else if (source === "http") shapeForHttpApi(shaped, several);
  else shapeForLoadBalancer(shaped, several, isAlbEvent(event) && !!event.multiValueHeaders);
  return shaped;
}

function safeValue<V extends string | number | boolean>(value: V): V | string {
  return typeof value === "string" && UNSAFE_IN_HEADER.test(value)
    // deno-lint-ignore no-control-regex
    ? value.replace(/[\0\r\n]+/g, " ")
    : value;
}

/** Headers with several values, cookies among them; `undefined` when there are none, as is usual. */
function severalValues({ multiValueHeaders, cookies }: ProxyResult): Record<string, string[]> | undefined {
  if (multiValueHeaders === undefined && cookies === undefined) return undefined;
  const all: Record<string, string[]> = {};
  for (const name in multiValueHeaders) all[name] = multiValueHeaders[name].map((value) => String(safeValue(value)));
  if (cookies !== undefined && cookies.length > 0) {
    const name = Object.keys(all).find((key) => key.toLowerCase() === "set-cookie") ?? "Set-Cookie";
    all[name] = [...all[name] ?? [], ...cookies.map((cookie) => String(safeValue(cookie)))];
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
