import { ConfigurationError } from "../../errors/http_errors.ts";
import type { ApiKeyNeeds, ApiKeyPermissions, AuthMethod, AuthNeeds } from "./auth_method.ts";
import type { SessionIdentity, SessionNeeds } from "./session.ts";

/** A checked API key, as handlers see it. It never contains the key or its hash. */
export interface ApiKeyDetails {
  /** The key's id. */
  id: string;
  /** The configuration of better-auth's plugin that the key belongs to. */
  configId: string;
  /** Display name. */
  name: string | null;
  /** Id of the user or the organization that owns the key. */
  referenceId: string;
  /** Permissions of the key. */
  permissions: ApiKeyPermissions;
  /** Data that was stored with the key. */
  metadata: unknown;
  /** Remaining requests; `null` if they are not counted. */
  remaining: number | null;
  /** The time at which the key expires; `null` if it does not. */
  expiresAt: Date | null;
}

/**
 * The claims of a checked JSON Web Token (RFC 7519). Declare the claims of your issuer once:
 *
 * ```ts ignore
 * declare module "@trellis/fn/auth/jwt" {
 *   interface JwtClaims {
 *     scope: string;
 *   }
 * }
 * ```
 */
export interface JwtClaims {
  /** Issuer. */
  iss: string;
  /** Id of the user. */
  sub?: string;
  /** Audience. */
  aud?: string | string[];
  /** Expiry time, in seconds since 1970. */
  exp: number;
  /** Any other claim. */
  [claim: string]: unknown;
}

/** Identity of the caller with auth `api-key`. */
export interface ApiKeyIdentity {
  /** Id of the user who owns the key; `undefined` if an organization owns it. */
  readonly userId: string | undefined;
  /** The key. */
  readonly apiKey: ApiKeyDetails;
}

/** Identity of the caller with auth `jwt`. */
export interface JwtIdentity<TClaims = JwtClaims> {
  /** The user's id: the claim `sub`, or another configured one. */
  readonly userId: string;
  /** The checked claims. */
  readonly claims: TClaims;
}

/** Creates the value of the option `auth` from what a handler asks of its callers. */
export interface ConfiguredMethods {
  session: (needs: SessionNeeds) => AuthMethod<SessionIdentity>;
  "api-key": (needs: ApiKeyNeeds) => AuthMethod<ApiKeyIdentity>;
  jwt: () => AuthMethod<JwtIdentity>;
}

const SETUP: Readonly<Record<keyof ConfiguredMethods, string>> = {
  session: "configureSessionAuth(getDb, config) from @trellis/fn/auth",
  "api-key": "configureApiKeyAuth(getDb, options) from @trellis/fn/auth",
  jwt: "configureJwtAuth(options) from @trellis/fn/auth/jwt",
};

const configured: Partial<ConfiguredMethods> = {};

/**
 * Configures the meaning of a mode's name in handlers. `auth` fills the slot, and `validation` reads it:
 * neither imports the other. Values such as `session()` of `defineAuth` need no slot.
 *
 * @param mode The mode.
 * @param create Creates the value, or `undefined` to empty the slot.
 */
export function setConfiguredMethod<Mode extends keyof ConfiguredMethods>(
  mode: Mode,
  create: ConfiguredMethods[Mode] | undefined,
): void {
  configured[mode] = create;
}

/**
 * Returns the value of a mode's name. The configuration is looked up at each request, so that the
 * handler may be defined first.
 *
 * @param mode The mode.
 * @param needs What the handler asks of its callers.
 * @returns The value. Its check throws `ConfigurationError` if the mode is not configured.
 */
export function useConfiguredMethod(
  mode: keyof ConfiguredMethods,
  needs: AuthNeeds = {},
): AuthMethod {
  let known: ConfiguredMethods[keyof ConfiguredMethods] | undefined;
  let method: AuthMethod | undefined;
  return {
    mode,
    needs,
    authenticate(event, setCookie) {
      const create = configured[mode];
      if (create === undefined) {
        throw new ConfigurationError(
          `A handler has auth '${mode}', which is not configured: call ${
            SETUP[mode]
          } at module scope, before the first request`,
        );
      }
      if (method === undefined || create !== known) method = (known = create)(needs);
      return method.authenticate(event, setCookie);
    },
  };
}
