import { isText, type SettingsGroup } from "./setting_rules.ts";

/** Settings of `trellis generate client`. */
export interface ClientSettings {
  /**
   * The generated types of all routes.
   * @default "api_types.ts"
   */
  file?: string;
}

/** Checks and defaults of {@link ClientSettings}. */
export const CLIENT_SETTINGS = {
  checks: {
    file: ["a file that ends in .ts", (value) => isText(value) && String(value).endsWith(".ts")],
  },
  defaults: { file: "api_types.ts" },
} as const satisfies SettingsGroup<ClientSettings, ClientSettings>;
