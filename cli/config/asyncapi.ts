import { extname } from "node:path";
import { isText, type SettingsGroup } from "./setting_rules.ts";

/** Settings of `trellis generate asyncapi`. Title, version and description are those of `openapi`. */
export interface AsyncapiSettings {
  /**
   * The generated document: JSON, or YAML if it ends in `.yaml` or `.yml`.
   * @default "asyncapi.json"
   */
  file?: string;
}

/** Checks and defaults of {@link AsyncapiSettings}. */
export const ASYNCAPI_SETTINGS = {
  checks: {
    file: [
      "a file that ends in .json, .yaml or .yml",
      (value) => isText(value) && [".json", ".yaml", ".yml"].includes(extname(String(value))),
    ],
  },
  defaults: { file: "asyncapi.json" },
} as const satisfies SettingsGroup<AsyncapiSettings, AsyncapiSettings>;
