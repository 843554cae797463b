import { isObject, isText, type SettingsGroup } from "./settings.ts";

/** A base address of the API. */
export interface ConfiguredServer {
  /** `https://api.example.com` */
  url: string;
  /** What it is: `Production`. */
  description?: string;
}

/** Settings of `trellis generate openapi`. */
export interface OpenapiSettings {
  /**
   * The document.
   * @default "openapi.json"
   */
  file?: string;
  /**
   * A reference page that is written and checked with the document, as `--html` does.
   * @default none
   */
  htmlFile?: string;
  /**
   * The name of the API.
   * @default the name in deno.json or package.json, else the folder's
   */
  title?: string;
  /**
   * The version of the API.
   * @default the version in deno.json or package.json, else "0.0.0"
   */
  version?: string;
  /** What the API is for, in CommonMark. */
  description?: string;
  /**
   * Base addresses: `["https://api.example.com"]`, or with what each is: `[{ url, description }]`.
   * @default none: where the document is
   */
  servers?: (string | ConfiguredServer)[];
}

const isServer = (value: unknown): boolean =>
  isText(value) ||
  isObject(value) && isText(value.url) &&
    (value.description === undefined || isText(value.description)) &&
    Object.keys(value).every((key) => key === "url" || key === "description");

/** What {@link OpenapiSettings} may be. */
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
