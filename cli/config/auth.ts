import { isText, type SettingsGroup } from "./setting_rules.ts";

/** Settings of `trellis generate auth-schema`. */
export interface AuthSchemaSettings {
  /**
   * The file with the drizzle tables of better-auth.
   * @default "src/auth_schema.ts"
   */
  schemaFile?: string;
  /**
   * The module that exports the `AuthConfig`, with the name of the export:
   * `"src/auth.ts#authConfig"`.
   * @default the modules that call `defineAuth`
   */
  config?: string;
}

/** Checks and defaults of {@link AuthSchemaSettings}. */
export const AUTH_SCHEMA_SETTINGS = {
  checks: {
    schemaFile: ["a TypeScript file", (value) => isText(value) && /\.m?ts$/.test(String(value))],
    config: ['a module, such as "src/auth.ts#authConfig"', isText],
  },
  defaults: { schemaFile: "src/auth_schema.ts" },
} as const satisfies SettingsGroup<AuthSchemaSettings, AuthSchemaSettings>;
