import {
  type ApiEvent,
  type AuthorizerContext,
  authorizerOf,
  extractBearerToken,
  getSessionAuthenticator,
  headerOf,
  type SessionResult,
  timingSafeEqual,
  UserStatus,
} from "../core/mod.ts";
import { getOptionalEnv } from "../env/mod.ts";
import { ConfigurationError, UnauthorizedError } from "../errors/mod.ts";

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

/** What nothing is known of. */
export const NOBODY: Identity = Object.freeze({});

/** How each mode authenticates. A credential that is bad is refused: it never falls back to another or to anonymous. */
export const AUTHENTICATORS = {
  none: () => NOBODY,
  bearer: authenticateBearer,
  authorizer: authenticateAuthorizer,
  "authorizer-optional": authenticateAuthorizerOptional,
  session: authenticateSession,
} as const satisfies Record<AuthMode, Authenticator>;

/** The modes, for checks and messages. */
export const AUTH_MODES: readonly string[] = Object.keys(AUTHENTICATORS);

function authorizationOf(event: ApiEvent): string | undefined {
  return headerOf(event, "Authorization", "authorization");
}

function authenticateBearer(event: ApiEvent): Identity {
  const expected = getOptionalEnv("API_BEARER_TOKEN");
  if (expected === undefined) {
    throw new ConfigurationError(
      "A handler has auth 'bearer' but the environment variable API_BEARER_TOKEN is not set: set it to a long random value",
    );
  }
  const header = authorizationOf(event);
  if (header === undefined) throw new UnauthorizedError("The Authorization header is missing");
  const token = extractBearerToken(header);
  if (token === null) throw new UnauthorizedError("The Authorization header is not of the form 'Bearer <token>'");
  if (!timingSafeEqual(token, expected)) throw new UnauthorizedError("The bearer token is not valid");
  return NOBODY;
}

function authenticateAuthorizer(event: ApiEvent): Identity {
  const identity = readAuthorizer(event);
  if (identity.userStatus !== UserStatus.Authenticated) throw new UnauthorizedError("Authentication is required");
  return identity;
}

function authenticateAuthorizerOptional(event: ApiEvent): Identity {
  const identity = readAuthorizer(event);
  if (identity.userStatus === UserStatus.Unauthenticated) throw new UnauthorizedError("The credential is not valid");
  return identity;
}

/**
 * Reads what the gateway's authorizer found out. A status that is none of `UserStatus`, and an authenticated user
 * without an id, count as a bad credential.
 */
function readAuthorizer(event: ApiEvent): Identity {
  const authorizer = authorizerOf(event) ?? NO_AUTHORIZER;
  const id = textOf(authorizer.userId);
  const status = authorizer.userStatus ?? (id === undefined ? UserStatus.Anonymous : UserStatus.Authenticated);
  if (status === UserStatus.Anonymous) return { authorizer, userId: undefined, userStatus: UserStatus.Anonymous };
  const userId = id ?? textOf(authorizer.principalId);
  return status === UserStatus.Authenticated && userId !== undefined
    ? { authorizer, userId, userStatus: UserStatus.Authenticated }
    : { authorizer, userId: undefined, userStatus: UserStatus.Unauthenticated };
}

const NO_AUTHORIZER: AuthorizerContext = Object.freeze({});

function textOf(value: unknown): string | undefined {
  if (typeof value === "string" && value !== "") return value;
  return typeof value === "number" ? String(value) : undefined;
}

async function authenticateSession(event: ApiEvent): Promise<Identity> {
  const session = await getSessionAuthenticator()(authorizationOf(event));
  return { userId: session.user.id, session };
}
