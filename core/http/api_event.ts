import { UnexpectedError } from "../../errors/http_errors.ts";
import { groupValues } from "../lists/group_by.ts";
import { decodeBase64 } from "./base64.ts";
import type {
  AlbEvent,
  ApiEvent,
  AuthorizerContext,
  HttpApiEvent,
  RestApiEvent,
} from "./lambda.ts";
import { decodeForm } from "./percent_encoding.ts";

/** The kind of gateway of an HTTP event, which decides the format of the response. */
export type ApiEventSource = "rest" | "http" | "alb";

/** Checks whether an event comes from an HTTP API (payload format 2.0) or a function URL. */
export function isHttpApiEvent(event: object): event is HttpApiEvent {
  return (event as HttpApiEvent | null)?.version === "2.0";
}

/** Checks whether an event comes from an Application Load Balancer. */
export function isAlbEvent(event: object): event is AlbEvent {
  return (event as AlbEvent | null)?.requestContext?.elb !== undefined;
}

/** Members of HTTP requests that no event of another trigger has. Tests and direct invocations may send only one. */
const HTTP_MEMBERS = ["httpMethod", "headers", "multiValueHeaders", "body"] as const;

/** Checks whether an event is an HTTP request. The batch of a queue, for instance, is none. */
export function isHttpEvent(event: unknown): event is ApiEvent {
  if (typeof event !== "object" || event === null) return false;
  const { requestContext } = event as Partial<HttpApiEvent>;
  if ((requestContext as { connectionId?: unknown } | undefined)?.connectionId) return false;
  // what a gateway asks an authorizer about has all members of the request
  if ("methodArn" in event || "routeArn" in event) return false;
  if (requestContext?.http === undefined && isLatticeEvent(event)) return false;
  return HTTP_MEMBERS.some((name) => name in event) || requestContext?.http !== undefined;
}

/** Checks whether an event comes from VPC Lattice, in version 1.0 or 2.0. Its members have other names and types. */
function isLatticeEvent(event: object): boolean {
  return "raw_path" in event || isHttpApiEvent(event);
}

/**
 * Refuses events of other triggers. A response would be a success for them: SQS deletes a batch that is answered with 400.
 *
 * @throws {UnexpectedError} If the event is no HTTP request.
 */
export function checkHttpEvent(event: unknown): void {
  if (isHttpEvent(event)) return;
  throw new UnexpectedError(
    "The event is no HTTP request: the trigger of this function must be an API, a function URL or a load balancer. For VPC Lattice " +
      "use defineEventHandler({ event: VpcLatticeEvent })",
  );
}

/** Returns the gateway of an event, by default a REST API. */
export function getSource(event: ApiEvent): ApiEventSource {
  return isHttpApiEvent(event) ? "http" : isAlbEvent(event) ? "alb" : "rest";
}

/** Returns the method of a request in upper case. */
export function getMethod(event: ApiEvent): string {
  const method = isHttpApiEvent(event) ? event.requestContext.http.method : event.httpMethod;
  return (method ?? "GET").toUpperCase();
}

/** Returns the path of a request, without the query string. */
export function getPath(event: ApiEvent): string {
  return (isHttpApiEvent(event) ? event.rawPath : event.path) ?? "/";
}

/** Removes the name of the stage, with which HTTP APIs begin the path at their own address. */
export function stripStage(event: ApiEvent, path: string): string {
  if (!isHttpApiEvent(event)) return path;
  const { stage, domainName } = event.requestContext;
  if (!stage || stage === "$default") return path;
  if (domainName !== undefined && !domainName.includes(".execute-api.")) return path;
  const prefix = `/${stage}`;
  if (path === prefix) return "/";
  return path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
}

/** Returns the path of the route that the gateway or the router matched, such as `/notes/{id}`. */
export function getRoute(event: ApiEvent): string | undefined {
  if (!isHttpApiEvent(event)) return isAlbEvent(event) ? undefined : event.resource ?? undefined;
  const { routeKey } = event;
  const at = routeKey?.indexOf(" ") ?? -1;
  return at < 0 ? undefined : routeKey.slice(at + 1);
}

/**
 * Returns the value of a header, in any case of its name, or the last of several values.
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
  const headers = (event as ApiEvent | null)?.headers; // null in a direct invocation
  if (headers) {
    // HTTP APIs and load balancers send lower case
    const value = headers[name] ?? headers[lowerCase];
    if (value !== undefined) return getText(value);
    let isEmpty = true;
    for (const key in headers) {
      if (isSpelling(key, lowerCase)) return getText(headers[key]);
      isEmpty = false;
    }
    // otherwise the lists of values have the same names
    if (!isEmpty) return undefined;
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

/** Returns a string, or `undefined`. A direct invocation may contain other types. */
function getText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/**
 * Returns all headers with their names in lower case. Several values of one header are joined with commas (RFC 9110,
 * section 5.2).
 */
export function getHeaders(event: ApiEvent): Record<string, string> {
  const { multiValueHeaders } = event as RestApiEvent;
  const headers: Record<string, string> = {};
  // an event that was written by hand may have one header in one of them only
  for (const [name, given] of Object.entries({ ...event.headers, ...multiValueHeaders })) {
    const text = Array.isArray(given) ? given.join(", ") : getText(given);
    if (text !== undefined && name !== "__proto__") headers[name.toLowerCase()] = text;
  }
  return headers;
}

/** Returns the decoded values of each query parameter. */
export function getQuery(event: ApiEvent): Map<string, string[]> {
  // the event's own object joins repeated parameters with commas, which cannot be undone
  if (isHttpApiEvent(event)) return groupValues(new URLSearchParams(event.rawQueryString ?? ""));
  const decode = isAlbEvent(event) ? decodeForm : (text: string) => text;
  const pairs: [key: string, value: string][] = [];
  for (const [key, given] of Object.entries(getGivenQuery(event))) {
    for (const value of [given].flat()) {
      if (typeof value === "string") pairs.push([decode(key), decode(value)]);
    }
  }
  return groupValues(pairs);
}

/**
 * Returns the query parameters of a REST API or a load balancer as the event has them: a text or a list for each. An event
 * that was written by hand may have a parameter in one of its two members only.
 */
export function getGivenQuery(
  event: RestApiEvent | AlbEvent,
): Readonly<Record<string, string | readonly (string | undefined)[] | undefined>> {
  const { queryStringParameters, multiValueQueryStringParameters } = event;
  return { ...queryStringParameters, ...multiValueQueryStringParameters };
}

/** Checks whether an event has query parameters. */
export function hasQuery(event: ApiEvent): boolean {
  if (isHttpApiEvent(event)) return !!event.rawQueryString;
  return !!event.queryStringParameters || !!event.multiValueQueryStringParameters;
}

/** Returns the encoded query string without the question mark. */
export function getQueryString(event: ApiEvent): string {
  if (isHttpApiEvent(event)) return event.rawQueryString ?? "";
  const params = new URLSearchParams();
  for (const [key, values] of getQuery(event)) {
    for (const value of values) params.append(key, value);
  }
  return params.toString();
}

/** Returns the values of the route parameters. */
export function getPathParameters(event: ApiEvent): Readonly<Record<string, string | undefined>> {
  return (event as RestApiEvent).pathParameters ?? {};
}

/** Returns the context of the gateway's authorizer. HTTP APIs nest the context of Lambda authorizers one level deeper. */
export function getAuthorizer(event: ApiEvent): AuthorizerContext | undefined {
  const authorizer = (event as RestApiEvent).requestContext?.authorizer;
  if (!authorizer) return undefined;
  const lambda = (authorizer as { lambda?: unknown }).lambda;
  return isHttpApiEvent(event) && typeof lambda === "object" && lambda !== null
    ? lambda as AuthorizerContext
    : authorizer;
}

/**
 * Returns the bytes of the body as the client sent them, to check a signature over the raw body.
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
