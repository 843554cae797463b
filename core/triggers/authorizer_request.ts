import { getHeader, getMethod, getPath, getQuery, isHttpApiEvent } from "../http/api_event.ts";
import { extractBearerToken } from "../http/bearer_token.ts";
import type { ApiEvent } from "../http/lambda.ts";
import type {
  AuthorizerEvent,
  HttpAuthorizerEvent,
  TokenAuthorizerEvent,
} from "./trigger_events.ts";
import { credentialsAmong } from "./without_credential.ts";

/** What of a request may tell who calls, whatever kind of event asks. */
export interface AuthorizerRequest {
  /**
   * The token of `Authorization: Bearer <token>`; the header as it is when it has another form, so that a credential that
   * is shown and malformed is not taken for none. `undefined` when no credential was shown there.
   */
  token: string | undefined;
  /** Headers, names in lower case; empty for an authorizer of the type TOKEN. */
  headers: Readonly<Record<string, string | undefined>>;
  /** Query parameters, of repeated ones the last; empty for an authorizer of the type TOKEN. */
  query: Readonly<Record<string, string | undefined>>;
  /** The request's path. A decision that depends on it must not be remembered: it holds for the whole stage. */
  path: string;
  /** The request's method. A decision that depends on it must not be remembered either. */
  method: string;
}

/**
 * Reads a request out of the event that asks.
 *
 * @param event The event.
 * @returns What may tell who calls.
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

/** Everything in the event that may be a credential, so that none of it is logged. */
export function getCredentials(event: AuthorizerEvent): string[] {
  if (isTokenEvent(event)) return [event.authorizationToken ?? ""];
  const { headers, query } = readAuthorizerRequest(event);
  // an HTTP API gives the identity sources as a list, with payload format 1.0 as one text, and keeps cookies apart
  const { identitySource, cookies } = event as { identitySource?: unknown; cookies?: unknown };
  const others = [identitySource, cookies].flat().filter((value) => typeof value === "string");
  return [...credentialsAmong(headers), ...credentialsAmong(query), ...others];
}

/** Whether an HTTP API asks, with payload format 2.0. */
export function isHttpAuthorizerEvent(event: AuthorizerEvent): event is HttpAuthorizerEvent {
  return isHttpApiEvent(event as unknown as ApiEvent);
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
