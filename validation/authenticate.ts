import {
  type ApiKeyIdentity,
  type CredentialNeeds,
  getCredentialCheck,
  type JwtIdentity,
} from "../core/http/auth_registry.ts";
import type { ApiEvent, AuthorizerContext } from "../core/http/lambda.ts";
import type { SessionAccess } from "../core/http/session_registry.ts";
import { UserStatus } from "../core/http/user_status.ts";
import { UnauthorizedError } from "../errors/http_errors.ts";
import { readAuthorizer } from "./authenticate_authorizer.ts";
import { checkBearerToken } from "./authenticate_bearer.ts";
import { createSessionCheck, type SessionIdentity } from "./authenticate_session.ts";

/** Way in which a handler identifies the caller. */
export type AuthMode =
  | "api-key"
  | "authorizer"
  | "authorizer-optional"
  | "bearer"
  | "jwt"
  | "none"
  | "session";

/**
 * A check of callers that carries its implementation and its settings, such as the result of
 * `createJwtAuth`. A handler takes it in place of the name of a mode.
 */
export interface AuthMethod<TIdentity extends object = object> {
  /** Name of the security scheme in the OpenAPI document. */
  readonly mode: "gateway-jwt" | "jwt";
  /** Returns what the handler receives about the caller, or throws `UnauthorizedError`. */
  readonly authenticate: (event: ApiEvent) => TIdentity | Promise<TIdentity>;
}

/** Parameters of the handler that authentication adds. */
export interface Identity extends Partial<SessionIdentity> {
  userStatus?: UserStatus;
  authorizer?: AuthorizerContext;
  apiKey?: ApiKeyIdentity["apiKey"];
  claims?: JwtIdentity["claims"];
}

/** Returns the identity of the caller, or throws `UnauthorizedError`. */
export type Authenticator = (event: ApiEvent) => Identity | Promise<Identity>;

/** The identity of an unauthenticated caller. */
export const NO_IDENTITY: Identity = Object.freeze({});

/** Options of a handler that its authentication reads. */
export interface AuthenticationOptions extends SessionAccess, CredentialNeeds {
  readonly auth?: AuthMode | AuthMethod;
  readonly userIdClaim?: string;
}

/**
 * The check of each mode. An invalid credential is refused: it never falls back to another
 * or to anonymous.
 */
const AUTHENTICATORS = {
  none: () => () => NO_IDENTITY,
  bearer: () => authenticateBearer,
  authorizer: ({ userIdClaim }) => (event) => authenticateAuthorizer(event, userIdClaim),
  "authorizer-optional": ({ userIdClaim }) => (event) =>
    authenticateAuthorizerOptional(event, userIdClaim),
  session: createSessionCheck,
  "api-key": (options) => (event) => getCredentialCheck("api-key")(event, options),
  jwt: (options) => (event) => getCredentialCheck("jwt")(event, options),
} as const satisfies Record<AuthMode, (options: AuthenticationOptions) => Authenticator>;

/** The modes, for checks and messages. */
export const AUTH_MODES: readonly string[] = Object.keys(AUTHENTICATORS);

/**
 * Returns the check of a handler.
 *
 * @param options The handler's options.
 * @returns The check.
 */
export function createAuthenticator(options: AuthenticationOptions): Authenticator {
  const { auth = "none" } = options;
  return typeof auth === "object" ? auth.authenticate : AUTHENTICATORS[auth](options);
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
