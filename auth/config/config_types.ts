/** Types that `defineAuth` computes from the type of a configuration: an editor shows their results. */
import type { ApiKeyPermissions } from "../../core/http/auth_method.ts";
import type { ActiveOrganization, SessionResult } from "../../core/http/session.ts";

/** The built-in columns of users and sessions, which a check of sessions returns under its own names or not at all. */
export interface BuiltInColumns {
  /** Columns of users. */
  user: "createdAt" | "updatedAt" | "id" | "email" | "name" | "image" | "emailVerified";
  /** Columns of sessions. */
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
export type HiddenFieldsOf<TConfig, TModel extends "user" | "session"> = TConfig extends {
  readonly [M in TModel]: { readonly additionalFields: infer TFields };
} ? {
    [TField in keyof TFields]: TFields[TField] extends { readonly returned: false } ? TField
      : never;
  }[keyof TFields]
  : never;

/** The columns that the tables of a configuration have besides the built-in ones. */
export type AddedColumnsOf<TConfig, TModel extends "user" | "session"> = TConfig extends {
  readonly schema: { readonly [M in TModel]: { readonly $inferSelect: infer TRow } };
} ? Omit<TRow, BuiltInColumns[TModel] | HiddenFieldsOf<TConfig, TModel>>
  : unknown;

/** The session that handlers receive, with the columns that the configuration's tables add. */
export type SessionOf<TConfig> = SessionResult & {
  readonly user: AddedColumnsOf<TConfig, "user">;
  readonly session: AddedColumnsOf<TConfig, "session">;
};

/** The plugins of a configuration, also if a function loads them. */
export type PluginOf<TConfig> = TConfig extends { readonly plugins: infer TPlugins }
  ? TPlugins extends () => infer TLoaded
    ? Awaited<TLoaded> extends readonly (infer TPlugin)[] ? TPlugin
    : never
  : TPlugins extends readonly (infer TPlugin)[] ? TPlugin
  : never
  : never;

/** The roles that a plugin of a configuration defines. */
export type PluginRolesOf<TConfig, TId extends string> =
  Extract<PluginOf<TConfig>, { readonly id: TId }> extends
    { readonly options: { readonly roles: infer TRoles } } ? keyof TRoles & string : never;

/** The values of the column `role`, if its type lists them. */
export type ColumnRolesOf<TConfig> = AddedColumnsOf<TConfig, "user"> extends
  { readonly role: infer TRole } ? string extends TRole ? never : Extract<TRole, string>
  : never;

/** Any text where no name is known. */
export type OrAny<TName extends string> = [TName] extends [never] ? string : TName;

/** The names that the option `roles` takes: those that the plugin `admin` or the type of the column `role` lists. */
export type RoleOf<TConfig> = OrAny<PluginRolesOf<TConfig, "admin"> | ColumnRolesOf<TConfig>>;

/** The names of the roles in organizations: those that the plugin `organization` lists. */
export type OrganizationRoleOf<TConfig> = OrAny<PluginRolesOf<TConfig, "organization">>;

/** The permissions that keys may have: those of the plugins' access control, if it is given. */
export type PermissionsOf<TConfig> = [PluginPermissionsOf<TConfig>] extends [never]
  ? ApiKeyPermissions
  : PluginPermissionsOf<TConfig>;

/** The permissions in the access control of a plugin. */
export type PluginPermissionsOf<TConfig> = PluginOf<TConfig> extends infer TPlugin
  ? TPlugin extends { readonly options: { readonly ac: { readonly statements: infer TAll } } } ? {
      readonly [TName in keyof TAll]?: TAll[TName] extends readonly (infer TAction)[]
        ? readonly TAction[]
        : never;
    }
  : never
  : never;

/** The active organization, if a handler asks for it. */
export type WithOrganization<TOrganization> = [TOrganization] extends [undefined] ? unknown
  : { /** The active organization. */ organization: ActiveOrganization };

/** What a handler with `auth: session()` receives about the caller. */
export type CallerOf<TConfig, TOptional extends boolean, TOrganization> = TOptional extends true
  ? { userId: string | undefined; session: SessionOf<TConfig> | undefined }
  : { userId: string; session: SessionOf<TConfig> } & WithOrganization<TOrganization>;
