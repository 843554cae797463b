import { ConfigurationError } from "../../errors/http_errors.ts";
import type { TablePermission } from "../../database/queries/table_permission.ts";
import type { FunctionKind } from "../discovery/function_kinds.ts";
import { BUILD_SETTINGS, type BuildSettings } from "./build.ts";
import { DATABASE_SETTINGS, type DatabaseSettings } from "./database.ts";
import { INFRA_SETTINGS, type InfraSettings } from "./infra.ts";
import { OPENAPI_SETTINGS, type OpenapiSettings } from "./openapi.ts";
import { PERMISSIONS_SETTINGS, type PermissionsSettings } from "./permissions.ts";
import {
  checkRules,
  DOCUMENT_FILE,
  FOLDER,
  isObject,
  isText,
  matching,
  type Resolved,
  type Rules,
  type SettingsGroup,
  whole,
} from "./setting_rules.ts";

/** Settings of `trellis generate asyncapi`. Title, version and description are those of `openapi`. */
export interface AsyncapiSettings {
  /**
   * The generated document: JSON, or YAML if it ends in `.yaml` or `.yml`.
   * @default "asyncapi.json"
   */
  file?: string;
}

/** Checks and defaults of {@link AsyncapiSettings}. */
const ASYNCAPI_SETTINGS = {
  checks: {
    file: DOCUMENT_FILE,
  },
  defaults: { file: "asyncapi.json" },
} as const satisfies SettingsGroup<AsyncapiSettings, AsyncapiSettings>;

/** Settings of `trellis generate client`. */
export interface ClientSettings {
  /**
   * The generated types of all routes.
   * @default "api_types.ts"
   */
  file?: string;
}

/** Checks and defaults of {@link ClientSettings}. */
const CLIENT_SETTINGS = {
  checks: {
    file: ["a file that ends in .ts", (value) => isText(value) && String(value).endsWith(".ts")],
  },
  defaults: { file: "api_types.ts" },
} as const satisfies SettingsGroup<ClientSettings, ClientSettings>;

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
const AUTH_SCHEMA_SETTINGS = {
  checks: {
    schemaFile: matching("a TypeScript file", /\.m?ts$/),
    config: ['a module, such as "src/auth.ts#authConfig"', isText],
  },
  defaults: { schemaFile: "src/auth_schema.ts" },
} as const satisfies SettingsGroup<AuthSchemaSettings, AuthSchemaSettings>;

/** Settings of `trellis dev`. */
export interface DevSettings {
  /**
   * The port on the loopback address.
   * @default 8787
   */
  port?: number;
  /**
   * Seeds a new database: a `.sql` file, or a module that exports `async function seed({ db })`. It
   * runs once, after the first migrations.
   */
  seed?: string;
}

/** Checks and defaults of {@link DevSettings}. */
const DEV_SETTINGS = {
  checks: {
    port: ["a port, 1 to 65535", whole(1, 65_535)[1]],
    seed: matching("a file that ends in .sql, .ts, .mts, .js or .mjs", /\.(?:sql|m?[tj]s)$/),
  },
  defaults: {
    port: 8787,
  },
} as const satisfies SettingsGroup<DevSettings, DevSettings>;

/** The default export of `trellis.config.ts`. Paths are relative to that file. */
export interface TrellisConfig {
  /**
   * Folder of the functions, with the subfolders `api/`, `queue/`, `topic/`, `event/`, `schedule/`,
   * `storage/`, `websocket/`, `authorizer/` and `standalone/`.
   * @default "src/functions"
   */
  functionsDir?: string;
  /**
   * Triggers of more folders in `functionsDir`: `{ sqs: "queue", s3: "storage", scheduled:
   * "schedule" }`.
   * @default {}
   */
  folders?: Record<string, FunctionKind>;
  /**
   * Names of functions by file, relative to `functionsDir`: `{ "api/rooms/[roomId].get.ts": "Room"
   * }`. Roles, Terraform resources and bundles have these names.
   * @default names of the files
   */
  functionNames?: Record<string, string>;
  /** Settings of database roles and grants. */
  permissions?: PermissionsSettings;
  /** Settings of the generated Terraform. */
  infra?: InfraSettings;
  /** Settings of the OpenAPI document. */
  openapi?: OpenapiSettings;
  /** Settings of the AsyncAPI document. */
  asyncapi?: AsyncapiSettings;
  /** Settings of the generated client. */
  client?: ClientSettings;
  /** Settings of the database commands. */
  database?: DatabaseSettings;
  /** Settings of the auth tables. */
  auth?: AuthSchemaSettings;
  /** Settings of `trellis build`. */
  build?: BuildSettings;
  /** Settings of `trellis dev`. */
  dev?: DevSettings;
}

const GROUPS = {
  permissions: PERMISSIONS_SETTINGS,
  infra: INFRA_SETTINGS,
  openapi: OPENAPI_SETTINGS,
  asyncapi: ASYNCAPI_SETTINGS,
  client: CLIENT_SETTINGS,
  database: DATABASE_SETTINGS,
  auth: AUTH_SCHEMA_SETTINGS,
  build: BUILD_SETTINGS,
  dev: DEV_SETTINGS,
} as const;

/** A validated configuration with defaults applied. */
export interface ResolvedConfig {
  readonly functionsDir: string;
  readonly folders: Readonly<Record<string, FunctionKind>>;
  readonly functionNames: Readonly<Record<string, string>>;
  readonly permissions:
    & Readonly<Required<Omit<PermissionsSettings, "functions">>>
    & { readonly functions: Readonly<Record<string, TablePermission[]>> };
  readonly infra: Resolved<InfraSettings, typeof INFRA_SETTINGS>;
  readonly openapi: Resolved<OpenapiSettings, typeof OPENAPI_SETTINGS>;
  readonly asyncapi: Resolved<AsyncapiSettings, typeof ASYNCAPI_SETTINGS>;
  readonly client: Resolved<ClientSettings, typeof CLIENT_SETTINGS>;
  readonly database: Resolved<DatabaseSettings, typeof DATABASE_SETTINGS>;
  readonly auth: Resolved<AuthSchemaSettings, typeof AUTH_SCHEMA_SETTINGS>;
  readonly build: Resolved<BuildSettings, typeof BUILD_SETTINGS>;
  readonly dev: Resolved<DevSettings, typeof DEV_SETTINGS>;
}

/**
 * Types the configuration in `trellis.config.ts`. The commands load the file, so it may compute its
 * values.
 *
 * @param config The configuration.
 * @returns The configuration, unchanged.
 *
 * @example
 * ```ts
 * import { defineConfig } from "@trellis/fn/cli";
 *
 * const config = defineConfig({ functionsDir: "src/functions", permissions: { dir: "permissions" }
 * });
 * console.log(config.functionsDir); // src/functions
 * // in trellis.config.ts: export default config;
 * ```
 */
export function defineConfig(config: TrellisConfig): TrellisConfig {
  return config;
}

/**
 * Validates a configuration and applies defaults.
 *
 * @param config The default export of the file.
 * @param file The file's name, for messages.
 * @returns The checked configuration.
 * @throws {ConfigurationError} If a setting is unknown or invalid; the message names it.
 */
export function resolveConfig(config: unknown, file: string): ResolvedConfig {
  if (!isObject(config)) {
    throw new ConfigurationError(
      `${file} does not export a configuration. Write export default defineConfig({ … })`,
    );
  }
  checkLevel(config, "", file, {
    functionsDir: FOLDER,
    folders: ['an object: { sqs: "queue" }', isObject],
    functionNames: ['an object: { "api/notes.get.ts": "ListNotes" }', isObject],
    ...Object.fromEntries(
      Object.keys(GROUPS).map((name) => [name, ["an object", isObject] as const]),
    ),
  });
  const { functionsDir = "src/functions", folders = {}, functionNames = {} } =
    config as TrellisConfig;
  const groups = Object.fromEntries(
    Object.entries(GROUPS).map(([name, { checks, defaults }]) => {
      const settings = (config[name] ?? {}) as Record<string, unknown>;
      checkLevel(settings, name, file, checks);
      return [name, { ...defaults, ...withoutUndefined(settings) }];
    }),
  );
  return { functionsDir, folders, functionNames, ...groups } as ResolvedConfig;
}

function checkLevel(
  level: Record<string, unknown>,
  path: string,
  file: string,
  rules: Rules,
): void {
  const [error] = checkRules(path, level, rules);
  if (error !== undefined) throw new ConfigurationError(`${file}: ${error}`);
}

/** Returns the settings that have a value. */
export function withoutUndefined<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
}
