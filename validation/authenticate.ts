import type { ApiEvent, AuthorizerContext } from "../core/http/lambda.ts";
import type { SessionResult } from "../core/http/session_registry.ts";
import { UserStatus } from "../core/http/user_status.ts";
import { UnauthorizedError } from "../errors/http_errors.ts";
import { readAuthorizer } from "./authenticate_authorizer.ts";
import { checkBearerToken } from "./authenticate_bearer.ts";
import { authenticateSession } from "./authenticate_session.ts";

/** How a handler learns who calls. */
export type AuthMode = "bearer" | "authorizer" | "authorizer-optional" | "session" | "none";

/** What authentication adds to the handler's parameters. */
export interface Identity {
  userId?: string;
  userStatus?: UserStatus;
  authorizer?: AuthorizerContext;
  session?: SessionResult;
}

/** Finds out who calls, or throws `UnauthorizedError`. */
export type Authenticator = (event: ApiEvent) => Identity | Promise<Identity>;

/** The identity of a caller about whom nothing is known. */
export const NO_IDENTITY: Identity = Object.freeze({});

/**
 * How each mode authenticates. A credential that is bad is refused: it never falls back to another
 * or to anonymous.
 */
const AUTHENTICATORS = {
  none: () => () => NO_IDENTITY,
  bearer: () => authenticateBearer,
  authorizer: (userIdClaim) => (event) => authenticateAuthorizer(event, userIdClaim),
  "authorizer-optional": (userIdClaim) => (event) =>
    authenticateAuthorizerOptional(event, userIdClaim),
  session: () => authenticateSession,
} as const satisfies Record<AuthMode, (userIdClaim: string | undefined) => Authenticator>;

/** The modes, for checks and messages. */
export const AUTH_MODES: readonly string[] = Object.keys(AUTHENTICATORS);

/**
 * Returns the check of a mode.
 *
 * @param mode The handler's option `auth`.
 * @param userIdClaim The handler's option of that name.
 * @returns The check.
 */
export function createAuthenticator(
  mode: AuthMode,
  userIdClaim: string | undefined,
): Authenticator {
  return AUTHENTICATORS[mode](userIdClaim);
}

function authenticateBearer(event: ApiEvent): Identity {
  checkBearerToken(event);
  return NO_IDENTITY;
}

function authenticateAuthorizer(event: ApiEvent, userIdClaim: string | undefined): Identity {
  const identity = readAuthorizer(event, userIdClaim);
  if (identity.userStatus !== UserStatus.Authenticated) {
    throw new UnauthorizedError("Authentication is required");
  }
  return identity;
}

function authenticateAuthorizerOptional(
  event: ApiEvent,
  userIdClaim: string | undefined,
): Identity {
  const identity = readAuthorizer(event, userIdClaim);
  if (identity.userStatus === UserStatus.Unauthenticated) {
    throw new UnauthorizedError("The credential is not valid");
  }
  return identity;
}
