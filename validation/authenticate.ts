import { useConfiguredSession } from "../core/http/auth_registry.ts";
import type { AuthMethod } from "../core/http/auth_method.ts";
import type { ApiEvent } from "../core/http/lambda.ts";
import { UserStatus } from "../core/http/user_status.ts";
import { UnauthorizedError } from "../errors/http_errors.ts";
import { type AuthorizerIdentity, readAuthorizer } from "./authenticate_authorizer.ts";
import { checkBearerToken } from "./authenticate_bearer.ts";

/** Name of a way in which a handler identifies the caller. */
export type AuthMode = "authorizer" | "authorizer-optional" | "bearer" | "none" | "session";

/** Options of a handler that its authentication reads. */
export interface AuthenticationOptions {
  readonly auth?: AuthMode | AuthMethod;
  readonly userIdClaim?: string;
}

/**
 * The value of each mode's name. An invalid credential is refused: it never falls back to another or to
 * anonymous.
 */
const NAMED = {
  none: () => ({ mode: "none", authenticate: () => ({}) }),
  bearer: () => ({ mode: "bearer", authenticate: authenticateBearer }),
  authorizer: ({ userIdClaim }) => ({
    mode: "authorizer",
    authenticate: (event) => authenticateAuthorizer(event, userIdClaim),
  }),
  "authorizer-optional": ({ userIdClaim }) => ({
    mode: "authorizer-optional",
    authenticate: (event) => authenticateAuthorizerOptional(event, userIdClaim),
  }),
  session: useConfiguredSession,
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

function authenticateBearer(event: ApiEvent): object {
  checkBearerToken(event);
  return {};
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
