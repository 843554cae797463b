import { API_KEY_RULES, checkNeeds, SESSION_RULES } from "../core/auth_needs.ts";
import type {
  ApiKeyNeeds,
  ApiKeyPermissions,
  AuthMethod,
  AuthMethodMode,
} from "../core/http/auth_method.ts";
import type { ApiKeyIdentity, JwtClaims, JwtIdentity } from "../core/http/auth_registry.ts";
import type { RestApiEvent } from "../core/http/lambda.ts";
import type {
  ActiveOrganization,
  Authorize,
  OrganizationRule,
  SessionResult,
} from "../core/http/session.ts";
import { ANY_OPTION, checkOptions, OBJECT_OPTION } from "../core/option_rules.ts";
import { ConfigurationError } from "../errors/http_errors.ts";
import { type BetterAuthInstance, getAuth, resolveOnce } from "./accounts/instance.ts";
import type { AuthDatabase } from "./better_auth/better_auth_types.ts";
import type { AuthConfig } from "./config/config.ts";
import { getSessionTables } from "./config/session_tables.ts";
import type { JwtAuthOptions } from "./jwt/jwt_options.ts";
import type { ApiKeyAuthOptions, ApiKeyConfiguration } from "./keys/api_key_options.ts";
import { checkAuthOptions } from "./config/resolve_config.ts";
import { isRecording, record } from "../env/recording.ts";
import { createSessionCheck } from "./sessions/session_check.ts";
import { createOriginCheck } from "./sessions/trusted_origin.ts";

/** Columns that a check of sessions does not return beside the built-in fields. */
interface BuiltIn {
  user: "createdAt" | "updatedAt" | "id" | "email" | "name" | "image" | "emailVerified";
  session:
    | "createdAt"
    | "updatedAt"
    | "id"
    | "token"
    | "expiresAt"
    | "ipAddress"
    | "userAgent"
    | "userId";
}

/** Fields of `additionalFields` that better-auth and checks of sessions do not return. */
type HiddenFields<TConfig, TModel extends "user" | "session"> = TConfig extends {
  readonly [M in TModel]: { readonly additionalFields: infer TFields };
} ? {
    [TField in keyof TFields]: TFields[TField] extends { readonly returned: false } ? TField
      : never;
  }[keyof TFields]
  : never;

/** The columns that the tables of a configuration have besides the built-in ones. */
type AddedColumns<TConfig, TModel extends "user" | "session"> = TConfig extends {
  readonly schema: { readonly [M in TModel]: { readonly $inferSelect: infer TRow } };
} ? Omit<TRow, BuiltIn[TModel] | HiddenFields<TConfig, TModel>>
  : unknown;

/** The session that handlers receive, with the columns that the configuration's tables add. */
export type SessionOf<TConfig> = SessionResult & {
  readonly user: AddedColumns<TConfig, "user">;
  readonly session: AddedColumns<TConfig, "session">;
};

/** The plugins of a configuration, also if a function loads them. */
type PluginOf<TConfig> = TConfig extends { readonly plugins: infer TPlugins }
  ? TPlugins extends () => infer TLoaded
    ? Awaited<TLoaded> extends readonly (infer TPlugin)[] ? TPlugin
    : never
  : TPlugins extends readonly (infer TPlugin)[] ? TPlugin
  : never
  : never;

/** The roles that a plugin of a configuration defines. */
type PluginRoles<TConfig, TId extends string> =
  Extract<PluginOf<TConfig>, { readonly id: TId }> extends
    { readonly options: { readonly roles: infer TRoles } } ? keyof TRoles & string : never;

/** The values of the column `role`, if its type lists them. */
type ColumnRoles<TConfig> = AddedColumns<TConfig, "user"> extends { readonly role: infer TRole }
  ? string extends TRole ? never : Extract<TRole, string>
  : never;

type OrAny<TName extends string> = [TName] extends [never] ? string : TName;

/** The names that the option `roles` takes: those that the plugin `admin` or the type of the column `role` lists. */
export type RoleOf<TConfig> = OrAny<PluginRoles<TConfig, "admin"> | ColumnRoles<TConfig>>;

/** The names of the roles in organizations: those that the plugin `organization` lists. */
export type OrganizationRoleOf<TConfig> = OrAny<PluginRoles<TConfig, "organization">>;

/** The permissions that keys may have: those of the plugins' access control, if it is given. */
export type PermissionsOf<TConfig> = PluginOf<TConfig> extends infer TPlugin
  ? TPlugin extends { readonly options: { readonly ac: { readonly statements: infer TAll } } } ? {
      readonly [TName in keyof TAll]?: TAll[TName] extends readonly (infer TAction)[]
        ? readonly TAction[]
        : never;
    }
  : never
  : never;

type Permissions<TConfig> = [PermissionsOf<TConfig>] extends [never] ? ApiKeyPermissions
  : PermissionsOf<TConfig>;

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

type WithOrganization<TOrganization> = [TOrganization] extends [undefined] ? unknown
  : { /** The active organization. */ organization: ActiveOrganization };

/** What a handler with `auth: session()` receives about the caller. */
export type CallerOf<TConfig, TOptional extends boolean, TOrganization> = TOptional extends true
  ? { userId: string | undefined; session: SessionOf<TConfig> | undefined }
  : { userId: string; session: SessionOf<TConfig> } & WithOrganization<TOrganization>;

/** Options of `apiKey()`. */
export interface ApiKeyOptions<TConfig>
  extends Partial<Pick<ApiKeyAuthOptions, "plugin" | "configId">> {
  /** What the API key must be allowed to do: `{ notes: ["read"] }`. Else the response is 403. */
  readonly permissions?: Permissions<TConfig>;
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
  if (isRecording()) checkAuthOptions(config);
  else resolveOnce(config);
  const isTrustedOrigin = createOriginCheck(config) ?? null;

  /** The modules of a check are loaded when a handler asks for it, so that other functions do not contain them. */
  function loadCheck<TIdentity extends object>(
    mode: AuthMethodMode,
    needs: ApiKeyNeeds,
    load: () => Promise<AuthMethod<TIdentity>["authenticate"]>,
  ): AuthMethod<TIdentity> {
    // begins at once: invalid options end the process while it starts
    const loading = load();
    return {
      mode,
      needs,
      isTrustedOrigin,
      authenticate: async (event) => await (await loading)(event),
    };
  }

  return {
    session(options = {}) {
      checkOptions("session", options, SESSION_RULES);
      checkNeeds(options);
      const needs = { ...options } as Parameters<typeof createSessionCheck>[2];
      const authenticate = createSessionCheck(getDb, config, needs);
      return { mode: "session", needs, isTrustedOrigin, authenticate } as AuthMethod<never>;
    },
    apiKey(options = {}) {
      checkOptions("apiKey", options, API_KEY_OPTIONS);
      const { permissions, ...others } = options;
      const { user } = getSessionTables(config.schema ?? {});
      const schema = { user, ...config.schema };
      if (!Object.hasOwn(schema, "apikey")) {
        throw new ConfigurationError(
          "apiKey() needs AuthConfig.schema.apikey: the table of better-auth's plugin, which trellis generate auth-schema writes",
        );
      }
      const needs = permissions === undefined ? {} : { permissions } as ApiKeyNeeds;
      const apiKeyHeaders = listHeaders(others);
      const method = loadCheck("api-key", needs, async () => {
        const { createApiKeyCheck } = await import("./keys/api_key_auth.ts");
        const check = createApiKeyCheck(getDb, { ...others, schema });
        return (event) => check(event, needs);
      });
      return { ...method, apiKeyHeaders };
    },
    jwt(options) {
      return loadCheck("jwt", {}, async () => {
        const { createJwtAuth } = await import("./jwt/jwt_auth.ts");
        return createJwtAuth(options).authenticate;
      });
    },
    getAuth: () => getAuth(getDb, config),
  };
}

/** Returns the headers of the keys that a check reads, for descriptions of the API. */
function listHeaders({ plugin = {}, configId }: Partial<ApiKeyAuthOptions>): string[] {
  const all = [plugin].flat() as readonly ApiKeyConfiguration[];
  const { apiKeyHeaders = "x-api-key" } = all.find((each) => each.configId === configId) ??
    all.find((each) => (each.configId ?? "default") === "default") ?? {};
  return [apiKeyHeaders].flat();
}

const API_KEY_OPTIONS = { ...API_KEY_RULES, plugin: OBJECT_OPTION, configId: ANY_OPTION };
