import { ConfigurationError, ForbiddenError } from "../../errors/http_errors.ts";
import { getHeader } from "../http/api_event.ts";
import { type AuthMethod, isAuthMethod } from "../http/auth_method.ts";
import { useConfiguredSession } from "../http/auth_registry.ts";
import { isTrustedPage } from "../http/cors.ts";
import type { ApiEvent, AuthorizerContext, RestApiEvent } from "../http/lambda.ts";
import { getAuthorizerReason, refuseCredential } from "../http/refuse_credential.ts";
import type { SessionResult } from "../http/session.ts";
import { UserStatus } from "../http/user_status.ts";
import { type OptionRule, protective } from "../option_rules.ts";
import type { WebSocketEvent } from "./trigger_events.ts";

/** How a WebSocket handler identifies a client that connects. */
export type WebSocketAuth = "session" | "authorizer" | "none" | AuthMethod;

/** What the handler receives about a client that connects. */
export type WebSocketIdentity<TAuth> = TAuth extends "session"
  ? { /** The user's id. */ userId: string; /** The session. */ session: SessionResult }
  : TAuth extends "authorizer" ? {
      /** The user's id. */
      userId: string;
      /** The context that the authorizer returned. */
      authorizer: AuthorizerContext;
    }
  : TAuth extends AuthMethod<infer TIdentity> ? TIdentity
  : unknown;

/** The rules of the options `auth` and `origins`. */
export const WEBSOCKET_AUTH_RULES: { readonly auth: OptionRule; readonly origins: OptionRule } = {
  auth: protective([
    isAuth,
    "session, authorizer, none, or a value such as session() of defineAuth or the result of createConnectionTickets",
  ]),
  origins: protective([
    (value) => Array.isArray(value) && value.length > 0 && value.every(isOrigin),
    'a list of origins such as ["https://app.example.com"]',
  ]),
};

function isAuth(value: unknown): boolean {
  if (typeof value === "string") return ["session", "authorizer", "none"].includes(value);
  // no WebSocket API has an authorizer of JSON web tokens
  return isAuthMethod(value) && value.mode !== "gateway-jwt";
}

function isOrigin(value: unknown): boolean {
  return typeof value === "string" && /^https?:\/\/[^\s/,*?#]+$/.test(value);
}

/**
 * Identifies a client that connects, and checks the origin of its page.
 *
 * @param event The event of `$connect`.
 * @param auth The option `auth`.
 * @param origins The option `origins`.
 * @returns What the handler receives about the client.
 * @throws {UnauthorizedError} If there is no valid credential.
 * @throws {ForbiddenError} If the page's origin may not connect.
 * @throws {ConfigurationError} If the handler has no option `auth`.
 */
export async function authenticateConnection(
  event: WebSocketEvent,
  auth: WebSocketAuth | undefined,
  origins: readonly string[] | undefined,
): Promise<object> {
  if (auth === undefined) {
    throw new ConfigurationError(
      "The handler of $connect has no option auth, so that nobody can connect. Set it to session, authorizer or the result " +
        "of createConnectionTickets, or to none if anybody may connect",
    );
  }
  const request = toRequest(event);
  const origin = getHeader(request, "Origin", "origin");
  if (origins !== undefined && origin !== undefined && !origins.includes(origin)) {
    throw new ForbiddenError("Pages of this origin may not connect");
  }
  if (auth === "none") return {};
  if (auth === "authorizer") return readAuthorizer(event, request, origin, origins);
  const method = auth === "session" ? useConfiguredSession() : auth;
  return await method.authenticate(request);
}

/**
 * Browsers send cookies with handshakes of other sites, too, and the authorizer has already accepted them.
 */
function readAuthorizer(
  event: WebSocketEvent,
  request: ApiEvent,
  origin: string | undefined,
  origins: readonly string[] | undefined,
): object {
  const authorizer = event.requestContext.authorizer ?? {};
  const { userStatus, userId } = authorizer;
  if (userStatus !== UserStatus.Authenticated || typeof userId !== "string" || userId === "") {
    throw refuseCredential(getAuthorizerReason(userStatus), "Authentication is required");
  }
  const hasCookie = getHeader(request, "Cookie", "cookie") !== undefined;
  if (hasCookie && origins === undefined && (!origin || !isTrustedPage(request, origin))) {
    throw new ForbiddenError(
      "A connection with cookies must come from a trusted origin: list it in the option origins",
    );
  }
  return { userId, authorizer };
}

/**
 * Returns the handshake as a request. Handshakes are GET requests, but a page of another site can send them with
 * cookies and read what follows, so that their origin is checked like that of a POST.
 */
function toRequest(event: WebSocketEvent): RestApiEvent {
  return {
    resource: "/",
    path: "/",
    httpMethod: "POST",
    headers: event.headers ?? {},
    multiValueHeaders: event.multiValueHeaders,
    queryStringParameters: event.queryStringParameters ?? null,
    pathParameters: null,
    requestContext: event.requestContext,
    body: null,
    isBase64Encoded: false,
  };
}
