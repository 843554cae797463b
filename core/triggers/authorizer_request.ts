import { getHeader, getMethod, getPath, getQuery, isHttpApiEvent } from "../http/api_event.ts";
import { extractBearerToken } from "../http/bearer_token.ts";
import type { ApiEvent } from "../http/lambda.ts";
import type {
  AuthorizerEvent,
  HttpAuthorizerEvent,
  TokenAuthorizerEvent,
} from "./trigger_events.ts";
import { credentialsAmong } from "./without_credential.ts";

/** The parts of a request that identify the caller, for all kinds of events. */
export interface AuthorizerRequest {
  /**
   * The token of `Authorization: Bearer <token>`. A header in another form is passed on unchanged, so that a malformed
   * credential is not treated as a missing one. `undefined` without the header.
   */
  token: string | undefined;
  /** Headers with names in lower case; empty for an authorizer of the type TOKEN. */
  headers: Readonly<Record<string, string | undefined>>;
  /** Query parameters, the last value of each; empty for an authorizer of the type TOKEN. */
  query: Readonly<Record<string, string | undefined>>;
  /** The path. A decision that depends on it must not be cached, because a cached decision applies to the whole stage. */
  path: string;
  /** The method. A decision that depends on it must not be cached either. */
  method: string;
}

/**
 * Reads the request of an authorizer event.
 *
 * @returns The request.
 */
export function readAuthorizerRequest(event: AuthorizerEvent): AuthorizerRequest {
  const token = getToken(
    isTokenEvent(event) ? event.authorizationToken : getHeader(asRequest(event), "Authorization"),
  );
  if (isTokenEvent(event)) {
    const [method = "GET", ...path] = event.methodArn.split("/").slice(2);
    return { token, headers: {}, query: {}, path: `/${path.join("/")}`, method };
  }
  const request = asRequest(event);
  const query = Object.fromEntries(
    Array.from(getQuery(request), ([name, values]) => [name, values.at(-1)]),
  );
  return {
    token,
    headers: getHeaders(event),
    query,
    path: getPath(request),
    method: getMethod(request),
  };
}

/** Returns everything in an event that may be a credential, to keep it out of logs. */
export function getCredentials(event: AuthorizerEvent): string[] {
  if (isTokenEvent(event)) return [event.authorizationToken ?? ""];
  const { headers, query } = readAuthorizerRequest(event);
  // an HTTP API gives the identity sources as a list, with payload format 1.0 as one text, and keeps cookies apart
  const { identitySource, cookies } = event as { identitySource?: unknown; cookies?: unknown };
  const others = [identitySource, cookies].flat().filter((value) => typeof value === "string");
  return [...credentialsAmong(headers), ...credentialsAmong(query), ...others];
}

/** Checks whether an event comes from an HTTP API with payload format 2.0. */
export function isHttpAuthorizerEvent(event: AuthorizerEvent): event is HttpAuthorizerEvent {
  return isHttpApiEvent(event) && typeof (event as { routeArn?: unknown }).routeArn === "string";
}

function isTokenEvent(event: AuthorizerEvent): event is TokenAuthorizerEvent {
  return event.type === "TOKEN";
}

function asRequest(event: AuthorizerEvent): ApiEvent {
  return event as unknown as ApiEvent;
}

function getToken(header: string | undefined): string | undefined {
  return extractBearerToken(header) ?? (header?.trim() || undefined);
}

function getHeaders(
  { headers }: Exclude<AuthorizerEvent, TokenAuthorizerEvent>,
): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
