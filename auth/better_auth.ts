// `instance.ts` imports this file when the auth library's API is first used.
import { ConfigurationError } from "../errors/http_errors.ts";
import type { AuthDatabase, BetterAuthApi, BetterAuthOptions } from "./better_auth_types.ts";
import type { AuthSettings } from "./config.ts";
import { loadBetterAuth, loadGenericOAuth } from "./load_better_auth.ts";
import { withSafeErrors } from "./safe_errors.ts";
import { AUTH_SCHEMA_MAPPING } from "./schema.ts";

/** The auth library, started. */
export interface StartedBetterAuth {
  /** Its endpoints as functions. */
  readonly api: BetterAuthApi;
  /** Its routes. */
  readonly handler: (request: Request) => Promise<Response>;
  /** Name of the cookie with the session's token. */
  readonly sessionCookie: string;
  /** Deletes the session of a token. */
  readonly deleteSession: (token: string) => Promise<void>;
}

/**
 * Starts the auth library.
 *
 * @param db The database client.
 * @param settings The checked configuration.
 * @param options What of the library's options is known without it.
 * @returns The library's own instance.
 * @throws {ConfigurationError} When a provider is unknown, relations are missing, or the environment overrides the secret.
 */
export async function startBetterAuth(
  db: AuthDatabase,
  settings: AuthSettings,
  options: BetterAuthOptions,
): Promise<StartedBetterAuth> {
  const { social, custom } = settings.providers;
  const { bearer, betterAuth, drizzleAdapter, socialProviderList } = await loadBetterAuth();
  const known: readonly string[] = socialProviderList;
  const unknown = Object.keys(social).filter((id) => !known.includes(id));
  if (unknown.length > 0) {
    throw new ConfigurationError(
      `socialProviders has no built-in provider ${unknown.join(", ")}; known are ${
        known.join(", ")
      }. ` +
        "Any other goes under socialProviders.custom",
    );
  }
  const schema = { ...AUTH_SCHEMA_MAPPING, ...settings.schema };
  if (settings.experimentalJoins) checkRelations(db, schema);
  const plugins: BetterAuthOptions["plugins"] = [bearer()];
  if (custom.length > 0) {
    const genericOAuth = await loadGenericOAuth();
    plugins.push(
      genericOAuth({ config: custom as unknown as Parameters<typeof genericOAuth>[0]["config"] }),
    );
  }
  const auth = betterAuth<BetterAuthOptions>({
    ...options,
    // one transaction for a user and their account: half a sign-up would block the email address for good
    database: drizzleAdapter(withSafeErrors(db), {
      provider: "pg",
      schema,
      transaction: "transaction" in db,
    }),
    plugins,
  });
  const context = await auth.$context;
  if (context.secret !== settings.secret) {
    throw new ConfigurationError(
      "The environment variable BETTER_AUTH_SECRETS overrides AuthConfig.secret: unset it, or sessions signed with one would " +
        "be checked with the other",
    );
  }
  return {
    api: auth.api,
    handler: auth.handler,
    sessionCookie: context.authCookies.sessionToken.name,
    deleteSession: (token) => context.internalAdapter.deleteSession(token),
  };
}

interface RelationalClient {
  readonly _?: {
    readonly fullSchema?: Readonly<Record<string, unknown>>;
    readonly schema?: Readonly<
      Record<string, { readonly relations?: Readonly<Record<string, unknown>> }>
    >;
  };
}

/** Without relations better-auth would read each session without its user, and take it for no session. */
function checkRelations(db: AuthDatabase, schema: Readonly<Record<string, unknown>>): void {
  const { fullSchema = {}, schema: relational = {} } = (db as RelationalClient)._ ?? {};
  const needed = { user: "accounts", session: "user", account: "user" } as const;
  for (const [model, relation] of Object.entries(needed)) {
    const key = Object.keys(fullSchema).find((name) => fullSchema[name] === schema[model]);
    if (key === undefined || relational[key]?.relations?.[relation] === undefined) {
      throw new ConfigurationError(
        `experimentalJoins needs the ${model} table and its drizzle relation "${relation}" in the database client's schema: ` +
          "add the tables and authUserRelations, authSessionRelations, authAccountRelations of @trellis/fn/auth/schema",
      );
    }
  }
}
