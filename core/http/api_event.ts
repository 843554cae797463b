import { decodeBase64 } from "./base64.ts";
import type {
  AlbEvent,
  ApiEvent,
  AuthorizerContext,
  HttpApiEvent,
  RestApiEvent,
} from "./lambda.ts";

/** Where an HTTP event comes from, which decides the shape of the answer. */
export type ApiEventSource = "rest" | "http" | "alb";

/** Whether the event is of an HTTP API (payload format 2.0) or a function URL. */
export function isHttpApiEvent(event: ApiEvent): event is HttpApiEvent {
  return (event as HttpApiEvent | null)?.version === "2.0";
}

/** Whether the event is of an Application Load Balancer. */
export function isAlbEvent(event: ApiEvent): event is AlbEvent {
  return (event as AlbEvent | null)?.requestContext?.elb !== undefined;
}

/** Where the event comes from: a REST API unless it says otherwise. */
export function getSource(event: ApiEvent): ApiEventSource {
  return isHttpApiEvent(event) ? "http" : isAlbEvent(event) ? "alb" : "rest";
}

/** The request's method, in upper case. */
export function getMethod(event: ApiEvent): string {
  const method = isHttpApiEvent(event) ? event.requestContext.http.method : event.httpMethod;
  return (method ?? "GET").toUpperCase();
}

/** The request's path, without the query string. */
export function getPath(event: ApiEvent): string {
  return (isHttpApiEvent(event) ? event.rawPath : event.path) ?? "/";
}

/**
 * The value of a header, whatever the case of its name; with several values the last.
 *
 * @param event The event.
 * @param name The header's name in its usual spelling (`Content-Type`).
 * @param lowerCase The same in lower case.
 * @returns The value, or `undefined`.
 */
export function getHeader(
  event: ApiEvent,
  name: string,
  lowerCase: string = name.toLowerCase(),
): string | undefined {
  const headers = (event as ApiEvent | null)?.headers; // null when somebody invokes the function by hand
  if (headers) {
    // the usual spellings cost nanoseconds; HTTP API and load balancers write lower case
    const value = headers[name] ?? headers[lowerCase];
    if (value !== undefined) return getText(value);
    for (const key in headers) if (isSpelling(key, lowerCase)) return getText(headers[key]);
  }
  const all = (event as RestApiEvent | null)?.multiValueHeaders;
  if (all) {
    for (const key in all) if (isSpelling(key, lowerCase)) return getText(all[key]?.at?.(-1));
  }
  return undefined;
}

function isSpelling(key: string, lowerCase: string): boolean {
  return key.length === lowerCase.length && key.toLowerCase() === lowerCase;
}

/** Gateways send texts; whoever invokes the function by hand may send anything. */
function getText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The values of each query parameter, decoded. */
export function getQuery(event: ApiEvent): Map<string, string[]> {
  const query = new Map<string, string[]>();
  function add(key: string, value: string | undefined): void {
    if (value === undefined || value === null) return;
    const values = query.get(key);
    if (values === undefined) query.set(key, [value]);
    else values.push(value);
  }
  if (isHttpApiEvent(event)) {
    // the event's own object joins repeated parameters with commas, which cannot be undone
    for (const [key, value] of new URLSearchParams(event.rawQueryString ?? "")) add(key, value);
    return query;
  }
  const decode = isAlbEvent(event) ? decodeQuery : (text: string) => text;
  const all = event.multiValueQueryStringParameters;
  if (all) {
    for (const key of Object.keys(all)) {
      for (const value of all[key] ?? []) add(decode(key), decode(value));
    }
    return query;
  }
  const last = event.queryStringParameters;
  if (last) {
    for (const key of Object.keys(last)) {
      const value = last[key];
      if (typeof value === "string") add(decode(key), decode(value));
    }
  }
  return query;
}

/** A load balancer passes query parameters as they came. */
function decodeQuery(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll("+", " "));
  } catch {
    return text;
  }
}

/** Whether the event has any query parameter. */
export function hasQuery(event: ApiEvent): boolean {
  if (isHttpApiEvent(event)) return !!event.rawQueryString;
  return !!event.queryStringParameters || !!event.multiValueQueryStringParameters;
}

/** The query string without the question mark, encoded. */
export function getQueryString(event: ApiEvent): string {
  if (isHttpApiEvent(event)) return event.rawQueryString ?? "";
  const params = new URLSearchParams();
  for (const [key, values] of getQuery(event)) {
    for (const value of values) params.append(key, value);
  }
  return params.toString();
}

/** The values of the route's parameters. */
export function getPathParameters(event: ApiEvent): Readonly<Record<string, string | undefined>> {
  return (event as RestApiEvent).pathParameters ?? {};
}

/** What the gateway's authorizer said of the caller; that of a Lambda authorizer of an HTTP API lies one level deeper. */
export function getAuthorizer(event: ApiEvent): AuthorizerContext | undefined {
  const authorizer = (event as RestApiEvent).requestContext?.authorizer;
  if (!authorizer) return undefined;
  const lambda = (authorizer as { lambda?: unknown }).lambda;
  return isHttpApiEvent(event) && typeof lambda === "object" && lambda !== null
    ? lambda as AuthorizerContext
    : authorizer;
}

/**
 * The body's bytes as the client sent them: what a signature over the raw body is checked against.
 *
 * @param event The event.
 * @returns A view of the bytes; empty when there is no body.
 *
 * @example
 * ```ts
 * import { readRawBody } from "@trellis/fn/core";
 * import { createRestApiEvent } from "@trellis/fn/testing";
 *
 * console.log(readRawBody(createRestApiEvent({ method: "POST", body: "é" })).byteLength); // 2
 * ```
 */
export function readRawBody(event: ApiEvent): Uint8Array<ArrayBuffer> {
  const text = event.body ?? "";
  return event.isBase64Encoded ? decodeBase64(text) : new TextEncoder().encode(text);
}
