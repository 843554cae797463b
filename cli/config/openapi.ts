import { isText, type SettingsGroup } from "./settings.ts";

/** Settings of `trellis generate openapi`. */
export interface OpenapiSettings {
  /**
   * The document.
   * @default "openapi.json"
   */
  file?: string;
  /**
   * The name of the API.
   * @default the name in package.json or deno.json
   */
  title?: string;
}

/** What {@link OpenapiSettings} may be. */
export const OPENAPI_SETTINGS = {
  checks: {
    file: ["a file that ends in .json", (value) => isText(value) && String(value).endsWith(".json")],
    title: ["a text", isText],
  },
  defaults: {
    file: "openapi.json",
  },
} as const satisfies SettingsGroup<OpenapiSettings, OpenapiSettings>;
