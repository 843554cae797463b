import { checkNeeds, SESSION_RULES } from "../core/auth_needs.ts";
import type { ApiKeyNeeds, AuthMethod } from "../core/http/auth_method.ts";
import type { ApiKeyIdentity, JwtClaims, JwtIdentity } from "../core/http/auth_registry.ts";
import type { RestApiEvent } from "../core/http/lambda.ts";
import type { Authorize, OrganizationRule } from "../core/http/session.ts";
import { checkOptions } from "../core/option_rules.ts";
import { type BetterAuthInstance, getAuth, resolveOnce } from "./accounts/instance.ts";
import type { AuthDatabase } from "./better_auth/better_auth_types.ts";
import type { AuthConfig } from "./config/config.ts";
import type {
  CallerOf,
  OrganizationRoleOf,
  PermissionsOf,
  RoleOf,
  SessionOf,
  WithOrganization,
} from "./config/config_types.ts";
import { getSessionTables } from "./config/session_tables.ts";
import { checkJwtOptions, type JwtAuthOptions } from "./jwt/jwt_options.ts";
import { type ApiKeySelection, resolveApiKeyOptions } from "./keys/api_key_options.ts";
import { checkSessionOptions } from "./config/resolve_config.ts";
import { isRecording, record } from "../env/recording.ts";
import { createSessionCheck } from "./sessions/session_check.ts";
import { createOriginCheck } from "./sessions/trusted_origin.ts";

/** Options of `session()`. */
export interface SessionOptions<
  TConfig,
  TOptional extends boolean = false,
  TOrganization extends OrganizationRule | undefined = undefined,
> {
  /**
   * Admits requests without a session: `userId` and `session` are `undefined` then. A session cookie that is no longer
   * valid counts as none, an invalid bearer token is refused.
   * @default false
   */
  readonly optional?: TOptional;
  /** Roles of better-auth's admin plugin. The user needs at least one, else the response is 403. */
  readonly roles?: readonly RoleOf<TConfig>[];
  /**
   * Requires membership in the session's active organization of better-auth's organization plugin: any with `{}`, one
   * with the role or one of the roles with `{ role: "owner" }`. Else the response is 403. It is read in the query of the
   * session.
   */
  readonly organization?: TOrganization;
  /**
   * Seconds since the sign-in within which a session may be used. With an older one the response is 403 with the code
   * `SESSION_NOT_FRESH`: the client asks its user to sign in again.
   */
  readonly freshWithinSeconds?: number;
  /**
   * Requires a second factor: a code of better-auth's plugin `twoFactor`, or a passkey that verified its user. A session
   * that began in another way gets 403 with the code `SECOND_FACTOR_REQUIRED`: the client asks for a code.
   */
  readonly twoFactor?: "required";
  /** Decides whether the caller is allowed. `false` or a string give 403; the string is logged as the reason. */
  readonly authorize?: Authorize<
    { event: RestApiEvent; session: SessionOf<TConfig> } & WithOrganization<TOrganization>
  >;
}

/** Options of `apiKey()`. */
export interface ApiKeyOptions<TConfig> extends ApiKeySelection {
  /** What the API key must be allowed to do: `{ notes: ["read"] }`. Else the response is 403. */
  readonly permissions?: PermissionsOf<TConfig>;
}

/** The values of one configuration for the option `auth` of handlers. */
export interface Auth<TConfig extends AuthConfig = AuthConfig> {
  /** Returns the check of sessions for a handler. */
  readonly session: <
    TOptional extends boolean = false,
    TOrganization extends OrganizationRule<OrganizationRoleOf<TConfig>> | undefined = undefined,
  >(
    options?: SessionOptions<TConfig, TOptional, TOrganization>,
  ) => AuthMethod<CallerOf<TConfig, TOptional, TOrganization>>;
  /**
   * Returns the check of API keys for a handler: the keys of better-auth's plugin `@better-auth/api-key`, whose table is
   * `AuthConfig.schema.apikey`.
   */
  readonly apiKey: (options?: ApiKeyOptions<TConfig>) => AuthMethod<ApiKeyIdentity>;
  /** Returns the check of JSON web tokens for a handler, as `createJwtAuth` of `@trellis/fn/auth/jwt` does. */
  readonly jwt: <TClaims = JwtClaims>(
    options: JwtAuthOptions<TClaims>,
  ) => AuthMethod<JwtIdentity<TClaims>>;
  /** Returns the instance, for `createAuthHandler` and calls of better-auth's API. */
  readonly getAuth: () => Promise<BetterAuthInstance>;
}

/**
 * Defines who may call handlers: returns functions whose values are the option `auth` of handlers. The values carry
 * their check, so that nothing is registered: several configurations can be used in one process. It connects and loads
 * nothing before the first request.
 *
 * @param getDb Returns the database client, such as `() => getDrizzleClient(config)`. It should cache.
 * @param config As for {@link createAuth}. Its tables and plugins give `roles`, `permissions` and the session in handlers
 * their types.
 * @returns The functions.
 * @throws {ConfigurationError} If the configuration is invalid.
 *
 * @example
 * ```ts
 * import { defineAuth } from "@trellis/fn/auth";
 * import { getDrizzleClient } from "@trellis/fn/database";
 * import { defineApiHandler, reply } from "@trellis/fn/validation";
 * import * as z from "zod";
 *
 * // src/auth.ts
 * const { session } = defineAuth(() => getDrizzleClient({ provider: "embedded-pg" }), {
 *   secret: "at-least-32-random-characters-0123456789",
 *   baseURL: "http://localhost:3000",
 * });
 *
 * // src/functions/api/me.get.ts
 * const handler = defineApiHandler({
 *   auth: session(),
 *   responses: { 200: z.object({ email: z.string() }) },
 * })(({ session }) => reply(200, { email: session.user.email }));
 * console.log(handler.operation.auth); // session
 * ```
 */
export function defineAuth<TConfig extends AuthConfig>(
  getDb: () => Promise<AuthDatabase>,
  config: TConfig,
): Auth<TConfig> {
  return record("defineAuth", [getDb, config], createMethods(getDb, config));
}

/** Creates the functions of {@link defineAuth}. */
export function createMethods<TConfig extends AuthConfig>(
  getDb: () => Promise<AuthDatabase>,
  config: TConfig,
): Auth<TConfig> {
  // the values of the environment are not the real ones while a program is only loaded
  if (isRecording()) checkSessionOptions(config);
  else resolveOnce(config);
  const isTrustedOrigin = createOriginCheck(config) ?? null;

  return {
    session(options = {}) {
      checkOptions("session", options, SESSION_RULES);
      checkNeeds(options);
      const needs = { ...options } as Parameters<typeof createSessionCheck>[2];
      const authenticate = createSessionCheck(getDb, config, needs);
      return { mode: "session", needs, isTrustedOrigin, authenticate } as AuthMethod<never>;
    },
    apiKey(options = {}) {
      const { user } = getSessionTables(config.schema ?? {});
      const settings = resolveApiKeyOptions(options as ApiKeySelection & ApiKeyNeeds, {
        user,
        ...config.schema,
      });
      const { permissions } = options as ApiKeyNeeds;
      const needs: ApiKeyNeeds = permissions === undefined ? {} : { permissions };
      // loaded when a handler asks for it, so that other functions do not contain it
      const loading = import("./keys/api_key_check.ts");
      return {
        mode: "api-key",
        needs,
        isTrustedOrigin,
        apiKeyHeaders: settings.headers,
        async authenticate(event) {
          const { checkApiKey } = await loading;
          return await checkApiKey(event, needs, settings, getDb);
        },
      };
    },
    jwt(options) {
      checkJwtOptions("jwt", options as JwtAuthOptions<unknown>);
      const loading = import("./jwt/jwt_auth.ts").then((jwt) => jwt.createJwtCheck(options));
      return {
        mode: "jwt",
        needs: {},
        isTrustedOrigin,
        authenticate: async (event) => await (await loading)(event),
      };
    },
    getAuth: () => getAuth(getDb, config),
  };
}
