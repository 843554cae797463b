import type { OpenApiVersion } from "../../validation/openapi/document.ts";
import {
  DOCUMENT_FILE,
  isObject,
  isText,
  listOf,
  matching,
  oneOf,
  type SettingsGroup,
  TEXT,
} from "./setting_rules.ts";

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
   * The generated document: JSON, or YAML if it ends in `.yaml` or `.yml`.
   * @default "openapi.json"
   */
  file?: string;
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
  /**
   * The version of OpenAPI, like `--openapi-version`.
   * @default "3.1"
   */
  openapiVersion?: OpenApiVersion;
  /**
   * A prefix of all names of schemas: `"Shop"` makes `Note` `ShopNote`.
   * @default ""
   */
  schemaPrefix?: string;
  /**
   * Exported schemas that no operation uses, with their modules: `["src/events.ts#NoteEvent"]`.
   * @default []
   */
  additionalSchemas?: string[];
}

const isServer = (value: unknown): boolean =>
  isText(value) ||
  isObject(value) && isText(value.url) &&
    (value.description === undefined || isText(value.description)) &&
    Object.keys(value).every((key) => key === "url" || key === "description");

const [, isExport] = matching("an export", /^[^#]+\.[mc]?[jt]sx?#\w+$/);

/** Checks and defaults of {@link OpenapiSettings}. */
export const OPENAPI_SETTINGS = {
  checks: {
    file: DOCUMENT_FILE,
    title: TEXT,
    version: TEXT,
    description: TEXT,
    servers: listOf("a list of addresses, or of { url, description }", isServer, 1),
    openapiVersion: oneOf("3.1", "3.2"),
    schemaPrefix: matching("a name of letters, digits and _", /^\w*$/),
    additionalSchemas: listOf('a list of exports, such as "src/events.ts#NoteEvent"', isExport),
  },
  defaults: {
    file: "openapi.json",
    openapiVersion: "3.1",
    schemaPrefix: "",
    additionalSchemas: [] as string[],
  },
} as const satisfies SettingsGroup<OpenapiSettings, OpenapiSettings>;
