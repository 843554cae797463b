import { ConfigurationError } from "../../errors/http_errors.ts";
import type { ApiEvent } from "./lambda.ts";

/** Actions by resource, such as `{ notes: ["read", "write"] }`. */
export type ApiKeyPermissions = Readonly<Record<string, readonly string[]>>;

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

/** Requirements of a handler for a credential besides its validity. */
export interface CredentialNeeds {
  /** Permissions that the API key must have. */
  readonly permissions?: ApiKeyPermissions;
}

/** Checks of the modes that another entry point implements. */
export interface RegisteredChecks {
  "api-key": (event: ApiEvent, needs: CredentialNeeds) => Promise<ApiKeyIdentity>;
  jwt: (event: ApiEvent, needs: CredentialNeeds) => Promise<JwtIdentity>;
}

const SETUP: Readonly<Record<keyof RegisteredChecks, string>> = {
  "api-key": "configureApiKeyAuth(getDb, options) from @trellis/fn/auth",
  jwt: "configureJwtAuth(options) from @trellis/fn/auth/jwt",
};

const registered: Partial<RegisteredChecks> = {};

/**
 * Registers the check of an auth mode. `auth` fills the slot, and `validation` reads it: neither
 * imports the other.
 *
 * @param mode The mode.
 * @param check The check, or `undefined` to empty the slot.
 */
export function setCredentialCheck<Mode extends keyof RegisteredChecks>(
  mode: Mode,
  check: RegisteredChecks[Mode] | undefined,
): void {
  registered[mode] = check;
}

/**
 * Returns the registered check of an auth mode.
 *
 * @throws {ConfigurationError} If nothing is registered.
 */
export function getCredentialCheck<Mode extends keyof RegisteredChecks>(
  mode: Mode,
): RegisteredChecks[Mode] {
  const check = registered[mode];
  if (check === undefined) {
    throw new ConfigurationError(
      `A handler has auth '${mode}', which is not configured: call ${
        SETUP[mode]
      } at module scope, before the first request`,
    );
  }
  return check;
}
