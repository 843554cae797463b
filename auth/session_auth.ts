import { setSessionAuthenticator } from "../core/http/session_registry.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import type { AuthDatabase } from "./better_auth_types.ts";
import type { AuthConfig } from "./config.ts";
import { type BetterAuthInstance, getAuth, getInternals } from "./instance.ts";
import { readSessionCredential, requireCredential } from "./session_credential.ts";
import { validateSession } from "./sessions.ts";

let factory: (() => Promise<BetterAuthInstance>) | undefined;

/**
 * Says how handlers with auth `session` check sessions. Call it once at module scope, before the first request; nothing
 * is connected or loaded until then.
 *
 * @param getDb Gives the database client, such as `() => getDrizzleClient(config)`; it should cache.
 * @param config As for {@link createAuth}.
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
  factory = () => getAuth(getDb, config);
  setSessionAuthenticator(async (event) => {
    // first, so that a request without a credential does not reach the database
    requireCredential(event);
    const auth = await getConfiguredSessionAuth();
    return await validateSession(
      auth,
      await readSessionCredential(event, getInternals(auth).settings),
    );
  });
}

/**
 * The instance that {@link configureSessionAuth} stands for.
 *
 * @returns The instance.
 * @throws {ConfigurationError} When {@link configureSessionAuth} was not called.
 */
export async function getConfiguredSessionAuth(): Promise<BetterAuthInstance> {
  if (factory === undefined) {
    throw new ConfigurationError(
      "No session auth is configured: call configureSessionAuth(getDb, config) at module scope, before the first request",
    );
  }
  return await factory();
}

/** Forgets what {@link configureSessionAuth} was told. For tests. */
export function resetSessionAuth(): void {
  factory = undefined;
  setSessionAuthenticator(undefined);
}
