import { isObject, isText, type SettingsGroup } from "./settings.ts";

/** A server of the API. */
export interface ConfiguredServer {
  /** `https://api.example.com` */
  url: string;
  /** Description of the server: `Production`. */
  description?: string;
}

/** Settings of `trellis generate openapi`. */
export interface OpenapiSettings {
  /**
   * The generated document.
   * @default "openapi.json"
   */
  file?: string;
  /**
   * A reference page that is generated and checked together with the document, like `--html`.
   * @default none
   */
  htmlFile?: string;
  /**
   * Title of the API.
   * @default the name in deno.json or package.json, else the folder's name
   */
  title?: string;
  /**
   * Version of the API.
   * @default the version in deno.json or package.json, else "0.0.0"
   */
  version?: string;
  /** Description of the API in CommonMark. */
  description?: string;
  /**
   * Servers: `["https://api.example.com"]`, or with descriptions: `[{ url, description }]`.
   * @default none: relative to the document
   */
  servers?: (string | ConfiguredServer)[];
}

const isServer = (value: unknown): boolean =>
  isText(value) ||
  isObject(value) && isText(value.url) &&
    (value.description === undefined || isText(value.description)) &&
    Object.keys(value).every((key) => key === "url" || key === "description");

/** Checks and defaults of {@link OpenapiSettings}. */
export const OPENAPI_SETTINGS = {
  checks: {
    file: [
      "a file that ends in .json",
      (value) => isText(value) && String(value).endsWith(".json"),
    ],
    htmlFile: [
      "a file that ends in .html",
      (value) => isText(value) && String(value).endsWith(".html"),
    ],
    title: ["a text", isText],
    version: ["a text", isText],
    description: ["a text", isText],
    servers: [
      "a list of addresses, or of { url, description }",
      (value) => Array.isArray(value) && value.length > 0 && value.every(isServer),
    ],
  },
  defaults: {
    file: "openapi.json",
  },
} as const satisfies SettingsGroup<OpenapiSettings, OpenapiSettings>;
