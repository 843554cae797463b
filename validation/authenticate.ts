import { getAuthorizer, getHeader } from "../core/http/api_event.ts";
import type { AuthMethod } from "../core/http/auth_method.ts";
import { useConfiguredSession } from "../core/http/auth_registry.ts";
import { extractBearerToken, requireBearerToken } from "../core/http/bearer_token.ts";
import type { ApiEvent, AuthorizerContext } from "../core/http/lambda.ts";
import { getAuthorizerReason, refuseCredential } from "../core/http/refuse_credential.ts";
import { timingSafeEqual } from "../core/http/timing_safe_equal.ts";
import { UserStatus } from "../core/http/user_status.ts";
import { getOptionalEnv } from "../env/get_env.ts";
import { ConfigurationError } from "../errors/http_errors.ts";

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

function authenticateAuthorizer(
  event: ApiEvent,
  userIdClaim: string | undefined,
): AuthorizerIdentity {
  const identity = readAuthorizer(event, userIdClaim);
  if (identity.userStatus !== UserStatus.Authenticated) {
    throw refuseCredential(getAuthorizerReason(identity.userStatus), "Authentication is required");
  }
  return identity;
}

function authenticateAuthorizerOptional(
  event: ApiEvent,
  userIdClaim: string | undefined,
): AuthorizerIdentity {
  const identity = readAuthorizer(event, userIdClaim);
  if (identity.userStatus === UserStatus.Unauthenticated) {
    throw refuseCredential(getAuthorizerReason(identity.userStatus), "The credential is not valid");
  }
  return identity;
}

/**
 * Compares the request's bearer token with those of the environment variable `API_BEARER_TOKEN`.
 *
 * @returns Nothing about the caller.
 * @throws {UnauthorizedError} When the token is missing, malformed or none of them.
 * @throws {ConfigurationError} When the variable is not set, or has a value that no request can
 * match.
 */
function authenticateBearer(event: ApiEvent): object {
  const expected = readExpectedTokens();
  const token = requireBearerToken(getHeader(event, "Authorization", "authorization"));
  let matches = false;
  for (const each of expected) matches = timingSafeEqual(token, each) || matches;
  if (!matches) throw refuseCredential("unknown", "The bearer token is not valid");
  return {};
}

function readExpectedTokens(): readonly string[] {
  const text = getOptionalEnv("API_BEARER_TOKEN");
  if (text === undefined) {
    throw new ConfigurationError(
      "A handler has auth 'bearer' but the environment variable API_BEARER_TOKEN is not set: set it to a long random value",
    );
  }
  // no token has a comma (RFC 6750, section 2.1)
  const tokens = text.split(",").map((token) => token.trim());
  const position = tokens.findIndex((token) => extractBearerToken(`Bearer ${token}`) !== token) + 1;
  if (position === 0) return tokens;
  throw new ConfigurationError(
    `No request can match value ${position} of ${tokens.length} in the environment variable API_BEARER_TOKEN: it must be ` +
      "letters, digits and -._~+/ with = at the end only; several values are separated by commas",
  );
}

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
function readAuthorizer(
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
