import { setConfiguredSession } from "../core/http/auth_registry.ts";
import { setTrustedOriginCheck } from "../core/http/cors.ts";
import { isRecording, record } from "../env/recording.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import type { BetterAuthInstance } from "./accounts/instance.ts";
import type { AuthDatabase } from "./better_auth/better_auth_types.ts";
import type { AuthConfig } from "./config/config.ts";
import { identifyConfig } from "./config/identify_config.ts";
import { type Auth, createMethods } from "./define_auth.ts";
import { createOriginCheck } from "./sessions/trusted_origin.ts";

/** The configuration of handlers with auth `session`. */
let configured:
  | { readonly auth: Auth; readonly getDb: unknown; readonly identity: string }
  | undefined;

/** False where functions are loaded several times: each brings its own copy of the configuration. */
let isFixed = true;

/** Lets {@link configureSessionAuth} replace the configuration in this process, for `trellis dev`. */
export function allowReconfiguration(): void {
  isFixed = false;
}

/**
 * Configures the meaning of the name `session` in handlers: {@link defineAuth}'s `session()` for the whole process.
 * Call it once at module scope. It connects and loads nothing before the first request.
 *
 * @param getDb Returns the database client, such as `() => getDrizzleClient(config)`. It should
 * cache.
 * @param config As for {@link createAuth}.
 * @throws {ConfigurationError} If the configuration is invalid, or it was called before with another database or configuration.
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
  const identity = identifyConfig(config);
  if (configured !== undefined && isFixed && !isRecording()) {
    if (configured.getDb === getDb && configured.identity === identity) return;
    throw new ConfigurationError(
      "configureSessionAuth was called before with another database or configuration, which handlers with auth 'session' " +
        "would lose: call it once, or use the value session() of defineAuth(getDb, config) in the handlers of each",
    );
  }
  record("configureSessionAuth", [getDb, config], undefined);
  const auth = createMethods(getDb, config);
  configured = { auth, getDb, identity };
  setTrustedOriginCheck(createOriginCheck(config));
  setConfiguredSession(auth.session());
}

/**
 * Returns the instance that {@link configureSessionAuth} configured.
 *
 * @returns The instance.
 * @throws {ConfigurationError} If {@link configureSessionAuth} was not called.
 */
export async function getConfiguredSessionAuth(): Promise<BetterAuthInstance> {
  if (configured === undefined) {
    throw new ConfigurationError(
      "No session auth is configured: call configureSessionAuth(getDb, config) at module scope, before the first request",
    );
  }
  return await configured.auth.getAuth();
}

/** Clears the configuration of {@link configureSessionAuth}. For tests. */
export function resetSessionAuth(): void {
  configured = undefined;
  setTrustedOriginCheck(undefined);
  setConfiguredSession(undefined);
}
