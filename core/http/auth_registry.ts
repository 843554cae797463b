import { ConfigurationError } from "../../errors/http_errors.ts";
import type { ApiKeyPermissions, AuthMethod } from "./auth_method.ts";

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

let configured: AuthMethod | undefined;

/**
 * Configures what the name `session` stands for in handlers. `auth` fills the slot, and `validation` reads it:
 * neither imports the other. Values such as `session()` of `defineAuth` need no slot.
 *
 * @param method The value, or `undefined` to empty the slot.
 */
export function setConfiguredSession(method: AuthMethod | undefined): void {
  configured = method;
}

/**
 * Returns the value that the name `session` stands for. The configuration is looked up at each request, so that the
 * handler may be defined first.
 *
 * @returns The value. Its check throws `ConfigurationError` if nothing is configured.
 */
export function useConfiguredSession(): AuthMethod {
  return {
    mode: "session",
    needs: {},
    authenticate(event, setCookie) {
      if (configured === undefined) {
        throw new ConfigurationError(
          "A handler has auth 'session', which is not configured: call configureSessionAuth(getDb, config) from " +
            "@trellis/fn/auth at module scope, before the first request",
        );
      }
      return configured.authenticate(event, setCookie);
    },
  };
}
