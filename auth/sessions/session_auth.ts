import { setTrustedOriginCheck } from "../../core/http/cors.ts";
import { LastFulfilled } from "../../core/async/last_fulfilled.ts";
import { setSessionAuthenticator } from "../../core/http/session_registry.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { AuthDatabase } from "../better_auth/better_auth_types.ts";
import type { AuthConfig } from "../config/config.ts";
import { checkAuthOptions } from "../config/resolve_config.ts";
import { type BetterAuthInstance, createAuth, getAuth } from "../accounts/instance.ts";
import { checkRequestSession } from "./request_session.ts";
import { authenticateWithAccess } from "./session_access.ts";
import { requireCredential } from "./session_credential.ts";
import { createOriginCheck } from "./trusted_origin.ts";
import { record } from "../../env/recording.ts";

let factory: (() => Promise<BetterAuthInstance>) | undefined;

/**
 * Configures the session check of handlers with auth `session`. Call it once at module scope. It
 * connects and loads nothing before the first request.
 *
 * @param getDb Returns the database client, such as `() => getDrizzleClient(config)`. It should
 * cache.
 * @param config As for {@link createAuth}.
 * @throws {ConfigurationError} If an option is unknown.
 *
 * @example
 * ```ts
 * import { configureSessionAuth } from "@trellis/fn/auth";
 * import { getDrizzleClient } from "@trellis/fn/database";
 *
 * configureSessionAuth(() => getDrizzleClient({ provider: "embedded-pg" }), {
 *   secret: "at-least-32-random-characters-0123456789",
 *   baseURL: "http://localhost:3000",
 * });
 * ```
 */
export function configureSessionAuth(getDb: () => Promise<AuthDatabase>, config: AuthConfig): void {
  checkAuthOptions(config);
  record("configureSessionAuth", [getDb, config], undefined);
  const getInstance = factory = () => getAuth(getDb, config);
  setTrustedOriginCheck(createOriginCheck(config));
  const client = new LastFulfilled<AuthDatabase>();
  setSessionAuthenticator(function authenticateSession(event, access) {
    if (access !== undefined) return authenticateWithAccess(event, access, getInstance);
    // runs first, so that requests without a credential do not reach the database
    requireCredential(event);
    return client.use(getDb(), (db) => checkRequestSession(createAuth(db, config), event));
  });
}

/**
 * Returns the instance that {@link configureSessionAuth} configured.
 *
 * @returns The instance.
 * @throws {ConfigurationError} If {@link configureSessionAuth} was not called.
 */
export async function getConfiguredSessionAuth(): Promise<BetterAuthInstance> {
  if (factory === undefined) {
    throw new ConfigurationError(
      "No session auth is configured: call configureSessionAuth(getDb, config) at module scope, before the first request",
    );
  }
  return await factory();
}

/** Clears the configuration of {@link configureSessionAuth}. For tests. */
export function resetSessionAuth(): void {
  factory = undefined;
  setTrustedOriginCheck(undefined);
  setSessionAuthenticator(undefined);
}
