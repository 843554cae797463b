import type { ApiKeyNeeds } from "../../core/http/auth_method.ts";
import { type ApiKeyIdentity, setConfiguredMethod } from "../../core/http/auth_registry.ts";
import type { ApiEvent } from "../../core/http/lambda.ts";
import { checkApiKey } from "./api_key_check.ts";
import {
  type ApiKeyAuthOptions,
  type ApiKeyCheckOptions,
  resolveApiKeyOptions,
} from "./api_key_options.ts";
import type { AuthDatabase } from "../better_auth/better_auth_types.ts";
import { record } from "../../env/recording.ts";

/**
 * Configures the check of handlers with auth `api-key`: the keys of better-auth's plugin
 * `@better-auth/api-key`, which this function does not load. Call it once at module scope. It connects
 * on the first request with a key.
 *
 * @param getDb Returns the database client, such as `() => getDrizzleClient(config)`. It should
 * cache.
 * @param options The tables of the keys and their owners, and the options of the plugin.
 * @throws {ConfigurationError} If an option is invalid, a table or a column is missing, or the plugin
 * has an option that needs better-auth.
 *
 * @example
 * ```ts ignore
 * import { configureApiKeyAuth } from "@trellis/fn/auth";
 * import { defineApiHandler } from "@trellis/fn/validation";
 *
 * configureApiKeyAuth(getDb, { schema: { apikey, user } });
 *
 * export const handler = defineApiHandler({
 *   auth: "api-key",
 *   permissions: { notes: ["read"] },
 * })(async function listNotes({ context, userId, apiKey }) {
 *   return buildValidatedResponse(context, 200, await listNotesOfUser(userId));
 * });
 * ```
 */
export function configureApiKeyAuth(
  getDb: () => Promise<AuthDatabase>,
  options: ApiKeyAuthOptions,
): void {
  record("configureApiKeyAuth", [getDb, options], undefined);
  const check = createApiKeyCheck(getDb, options);
  setConfiguredMethod("api-key", (needs) => ({
    mode: "api-key",
    needs,
    authenticate: (event) => check(event, needs),
  }));
}

/** Clears the configuration of {@link configureApiKeyAuth}. For tests. */
export function resetApiKeyAuth(): void {
  setConfiguredMethod("api-key", undefined);
}

/**
 * Creates a check of API keys.
 *
 * @throws {ConfigurationError} As {@link configureApiKeyAuth}.
 */
export function createApiKeyCheck(
  getDb: () => Promise<AuthDatabase>,
  options: ApiKeyCheckOptions,
): (event: ApiEvent, needs: ApiKeyNeeds) => Promise<ApiKeyIdentity> {
  const settings = resolveApiKeyOptions(options);
  return (event, needs) => checkApiKey(event, needs, settings, getDb);
}
