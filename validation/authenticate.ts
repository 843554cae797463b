import { useConfiguredMethod } from "../core/http/auth_registry.ts";
import {
  API_KEY_RULES,
  type AuthMethod,
  type AuthNeeds,
  SESSION_RULES,
} from "../core/http/auth_method.ts";
import type { ApiEvent } from "../core/http/lambda.ts";
import { UserStatus } from "../core/http/user_status.ts";
import { UnauthorizedError } from "../errors/http_errors.ts";
import { type AuthorizerIdentity, readAuthorizer } from "./authenticate_authorizer.ts";
import { checkBearerToken } from "./authenticate_bearer.ts";

/** Name of a way in which a handler identifies the caller. */
export type AuthMode =
  | "api-key"
  | "authorizer"
  | "authorizer-optional"
  | "bearer"
  | "jwt"
  | "none"
  | "session";

/** Options of a handler that its authentication reads. */
export interface AuthenticationOptions extends AuthNeeds {
  readonly auth?: AuthMode | AuthMethod;
  readonly userIdClaim?: string;
}

/** The identity of an unauthenticated caller. */
export const NO_IDENTITY: object = Object.freeze({});

/**
 * The value of each mode's name. An invalid credential is refused: it never falls back to another or to
 * anonymous.
 */
const NAMED = {
  none: () => ({ mode: "none", authenticate: () => NO_IDENTITY }),
  bearer: () => ({ mode: "bearer", authenticate: authenticateBearer }),
  authorizer: ({ userIdClaim }) => ({
    mode: "authorizer",
    authenticate: (event) => authenticateAuthorizer(event, userIdClaim),
  }),
  "authorizer-optional": ({ userIdClaim }) => ({
    mode: "authorizer-optional",
    authenticate: (event) => authenticateAuthorizerOptional(event, userIdClaim),
  }),
  session: (options) => useConfiguredMethod("session", pick(options, SESSION_RULES)),
  "api-key": (options) => useConfiguredMethod("api-key", pick(options, API_KEY_RULES)),
  jwt: () => useConfiguredMethod("jwt"),
} as const satisfies Record<AuthMode, (options: AuthenticationOptions) => AuthMethod>;

/** The modes, for checks and messages. */
export const AUTH_MODES: readonly string[] = Object.keys(NAMED);

/**
 * Returns the check of a handler: the value of its option `auth`, or the value of the mode that it names.
 *
 * @param options The handler's options.
 * @returns The check.
 */
export function toAuthMethod(options: AuthenticationOptions): AuthMethod {
  const { auth = "none" } = options;
  return typeof auth === "object" ? auth : NAMED[auth](options);
}

/** Returns the options that say what a name asks of callers. */
function pick(options: AuthenticationOptions, rules: object): AuthNeeds {
  return Object.fromEntries(Object.entries(options).filter(([name]) => Object.hasOwn(rules, name)));
}

function authenticateBearer(event: ApiEvent): object {
  checkBearerToken(event);
  return NO_IDENTITY;
}

function authenticateAuthorizer(
  event: ApiEvent,
  userIdClaim: string | undefined,
): AuthorizerIdentity {
  const identity = readAuthorizer(event, userIdClaim);
  if (identity.userStatus !== UserStatus.Authenticated) {
    throw new UnauthorizedError("Authentication is required");
  }
  return identity;
}

function authenticateAuthorizerOptional(
  event: ApiEvent,
  userIdClaim: string | undefined,
): AuthorizerIdentity {
  const identity = readAuthorizer(event, userIdClaim);
  if (identity.userStatus === UserStatus.Unauthenticated) {
    throw new UnauthorizedError("The credential is not valid");
  }
  return identity;
}
