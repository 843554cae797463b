import { getAuthorizer } from "../core/http/api_event.ts";
import type { ApiEvent, AuthorizerContext } from "../core/http/lambda.ts";
import { UserStatus } from "../core/http/user_status.ts";
import { ConfigurationError } from "../errors/http_errors.ts";

/** Identity of the caller from the gateway's authorizer. */
export interface AuthorizerIdentity {
  readonly authorizer: AuthorizerContext;
  readonly userId: string | undefined;
  readonly userStatus: UserStatus;
}

const NO_AUTHORIZER: AuthorizerContext = Object.freeze({});

/**
 * Reads what the gateway's authorizer found out. A status that is none of `UserStatus`, and an
 * authenticated user without an id, count as a bad credential.
 *
 * @param event The event.
 * @param userIdClaim The claim with the user's id, for the gateway's own authorizers of JSON web
 * tokens.
 * @returns The caller.
 * @throws {ConfigurationError} When the gateway checked the caller in a way that this handler is
 * not configured to read.
 */
export function readAuthorizer(
  event: ApiEvent,
  userIdClaim: string | undefined,
): AuthorizerIdentity {
  const authorizer = getAuthorizer(event) ?? NO_AUTHORIZER;
  const claims = findClaims(authorizer);
  if (claims !== undefined) return readClaims(authorizer, claims, userIdClaim);
  if (isObject(authorizer.iam)) {
    throw new ConfigurationError(
      "The gateway checks callers of this route by IAM, which auth 'authorizer' does not read: use auth 'none' and " +
        "event.requestContext.authorizer.iam, or another authorizer",
    );
  }
  const id = asId(authorizer.userId);
  const status = authorizer.userStatus ??
    (id === undefined ? UserStatus.Anonymous : UserStatus.Authenticated);
  if (status === UserStatus.Anonymous) {
    return { authorizer, userId: undefined, userStatus: UserStatus.Anonymous };
  }
  return status === UserStatus.Authenticated
    ? authenticated(authorizer, id ?? asId(authorizer.principalId))
    : authenticated(authorizer, undefined);
}

/**
 * Returns the claims of an HTTP API's JWT authorizer. Behind a REST API, and with payload format 1.0,
 * they are one level higher.
 */
export function findClaims({ jwt, claims }: AuthorizerContext): AuthorizerContext | undefined {
  if (isObject(jwt)) return isObject(jwt.claims) ? jwt.claims : NO_AUTHORIZER;
  return isObject(claims) ? claims : undefined;
}

function readClaims(
  authorizer: AuthorizerContext,
  claims: AuthorizerContext,
  userIdClaim: string | undefined,
): AuthorizerIdentity {
  if (userIdClaim === undefined) {
    throw new ConfigurationError(
      "The gateway checks callers of this route by its own JWT authorizer: say which claim is the user's id, such as " +
        "userIdClaim: 'sub' in the handler's options",
    );
  }
  return authenticated(
    authorizer,
    Object.hasOwn(claims, userIdClaim) ? asId(claims[userIdClaim]) : undefined,
  );
}

function authenticated(
  authorizer: AuthorizerContext,
  userId: string | undefined,
): AuthorizerIdentity {
  return {
    authorizer,
    userId,
    userStatus: userId === undefined ? UserStatus.Unauthenticated : UserStatus.Authenticated,
  };
}

function isObject(value: unknown): value is AuthorizerContext {
  return typeof value === "object" && value !== null;
}

function asId(value: unknown): string | undefined {
  if (typeof value === "string" && value !== "") return value;
  return typeof value === "number" ? String(value) : undefined;
}
