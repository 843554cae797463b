import { API_KEY_RULES } from "../../core/auth_needs.ts";
import type { ApiKeyNeeds } from "../../core/http/auth_method.ts";
import {
  checkOptions,
  OBJECT_OPTION,
  type OptionRule,
  protective,
  someText,
} from "../../core/option_rules.ts";
import { getColumns, isTable } from "../../database/session/drizzle_table.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { checkOptionTree } from "../config/option_tree.ts";
import type { AuthSchema, ModelTable } from "../config/session_tables.ts";

/** The options of better-auth's plugin `apiKey`. A test compares them with its types. */
export const PLUGIN_TREE = {
  apiKeyHeaders: true,
  configId: true,
  customAPIKeyGetter: true,
  customAPIKeyValidator: true,
  customKeyGenerator: true,
  customStorage: true,
  defaultKeyLength: true,
  defaultPrefix: true,
  deferUpdates: true,
  disableKeyHashing: true,
  enableMetadata: true,
  enableSessionForAPIKeys: true,
  fallbackToDatabase: true,
  keyExpiration: {
    defaultExpiresIn: true,
    disableCustomExpiresTime: true,
    maxExpiresIn: true,
    minExpiresIn: true,
  },
  maximumNameLength: true,
  maximumPrefixLength: true,
  minimumNameLength: true,
  minimumPrefixLength: true,
  permissions: { defaultPermissions: true },
  rateLimit: { enabled: true, maxRequests: true, timeWindow: true },
  references: true,
  requireName: true,
  schema: true,
  startingCharactersConfig: { charactersLength: true, shouldStore: true },
  storage: true,
} as const satisfies Record<keyof ApiKeyConfiguration, unknown>;

/** Options of the plugin that checks of keys do not read. */
export type OtherApiKeyOption =
  | "customAPIKeyGetter"
  | "customAPIKeyValidator"
  | "customKeyGenerator"
  | "customStorage"
  | "defaultKeyLength"
  | "defaultPrefix"
  | "deferUpdates"
  | "enableMetadata"
  | "enableSessionForAPIKeys"
  | "fallbackToDatabase"
  | "keyExpiration"
  | "maximumNameLength"
  | "maximumPrefixLength"
  | "minimumNameLength"
  | "minimumPrefixLength"
  | "permissions"
  | "requireName"
  | "schema"
  | "startingCharactersConfig"
  | "storage";

/**
 * The options of better-auth's plugin `apiKey`, as its own type `ApiKeyOptions` has them. Checks of keys read those with a
 * description.
 */
// deno-lint-ignore no-explicit-any -- the plugin has their types, which are in an optional package
export interface ApiKeyConfiguration extends Partial<Record<OtherApiKeyOption, any>> {
  /** Name of the configuration, if the plugin has several. */
  configId?: string;
  /**
   * Header, or headers in the order in which they are read, with the key.
   * @default "x-api-key"
   */
  apiKeyHeaders?: string | string[];
  /**
   * True if keys are stored without a hash.
   * @default false
   */
  disableKeyHashing?: boolean;
  /**
   * Owner of the keys.
   * @default "user"
   */
  references?: "organization" | "user";
  /** Limit of requests of each key. */
  rateLimit?: {
    /**
     * False to count no requests.
     * @default true
     */
    enabled?: boolean;
    timeWindow?: number;
    maxRequests?: number;
  };
}

/** Which keys a check accepts. */
export interface ApiKeySelection {
  /**
   * The options of the plugin `apiKey`: its first argument.
   * @default {}
   */
  readonly plugin?: ApiKeyConfiguration | readonly ApiKeyConfiguration[];
  /**
   * The configuration that keys must belong to, if the plugin has several.
   * @default any
   */
  readonly configId?: string;
}

/** Columns of the plugin's table that a check reads or writes. */
export const API_KEY_COLUMNS = [
  "id",
  "configId",
  "name",
  "referenceId",
  "key",
  "refillInterval",
  "refillAmount",
  "lastRefillAt",
  "enabled",
  "rateLimitEnabled",
  "rateLimitTimeWindow",
  "rateLimitMax",
  "requestCount",
  "remaining",
  "lastRequest",
  "expiresAt",
  "createdAt",
  "updatedAt",
  "permissions",
  "metadata",
] as const;

/** The table of API keys. */
export type ApiKeyTable = ModelTable<typeof API_KEY_COLUMNS[number]>;

/** The tables of the owners of keys. */
export interface ApiKeyOwners {
  readonly user?: ModelTable<"id"> | undefined;
  readonly organization?: ModelTable<"id"> | undefined;
}

/** Validated options with defaults. */
export interface ApiKeySettings {
  readonly table: ApiKeyTable;
  readonly owners: ApiKeyOwners;
  readonly configurations: readonly ApiKeyConfiguration[];
  /** Headers with the key, in the order in which they are read. */
  readonly headers: readonly string[];
  readonly isHashed: boolean;
  readonly configId: string | undefined;
}

const RULES = {
  ...API_KEY_RULES,
  plugin: OBJECT_OPTION,
  configId: protective(someText("the configId of the plugin")),
} as const satisfies Record<keyof ApiKeySelection | keyof ApiKeyNeeds, OptionRule>;

/** Options of the plugin with which a check without better-auth would decide differently. */
const UNSUPPORTED = ["customAPIKeyGetter", "customAPIKeyValidator", "customStorage"] as const;

/**
 * Validates the options and adds defaults.
 *
 * @param options The options of `apiKey()`.
 * @param schema The tables of the keys and their owners: keys of deleted and banned owners are refused.
 * @returns The settings.
 * @throws {ConfigurationError} If an option is unknown, invalid or not supported, or the table lacks
 * columns.
 */
export function resolveApiKeyOptions(
  options: ApiKeySelection & ApiKeyNeeds,
  schema: AuthSchema,
): ApiKeySettings {
  checkOptions("apiKey", options, RULES);
  const { plugin = {}, configId } = options;
  const configurations = [plugin].flat() as readonly ApiKeyConfiguration[];
  for (const each of configurations) {
    checkOptionTree("apiKey.plugin", each, PLUGIN_TREE);
    checkSupported(each);
  }
  const lookup = configurations.find((each) => each.configId === configId) ??
    findDefault(configurations);
  return {
    table: checkTable(schema.apikey),
    owners: findOwners(configurations, schema),
    configurations,
    headers: [lookup.apiKeyHeaders ?? "x-api-key"].flat(),
    isHashed: lookup.disableKeyHashing !== true,
    configId,
  };
}

/** Finds the configuration of a key, as the plugin does. */
export function findConfiguration(
  configurations: readonly ApiKeyConfiguration[],
  configId: string | null,
): ApiKeyConfiguration {
  const named = configId ? configurations.find((each) => each.configId === configId) : undefined;
  return named ?? findDefault(configurations);
}

/** Checks whether a name is that of the default configuration. */
export function isDefaultConfig(configId: string | null | undefined): boolean {
  return !configId || configId === "default";
}

function findDefault(configurations: readonly ApiKeyConfiguration[]): ApiKeyConfiguration {
  const found = configurations.find(({ configId }) => isDefaultConfig(configId));
  if (found !== undefined) return found;
  throw new ConfigurationError(
    "apiKey(): none of the plugin's configurations has the configId default. Add one: better-auth refuses keys " +
      "without it",
  );
}

function checkSupported(configuration: ApiKeyConfiguration & { storage?: unknown }): void {
  const given = configuration as Readonly<Record<string, unknown>>;
  const option = UNSUPPORTED.find((name) => given[name] !== undefined);
  if (option === undefined && (given.storage ?? "database") === "database") return;
  throw new ConfigurationError(
    `apiKey() does not support the plugin's option ${option ?? "storage"}: ` +
      "check such keys with auth.api.verifyApiKey of better-auth",
  );
}

/** Returns the tables of the owners that the configurations have. */
function findOwners(
  configurations: readonly ApiKeyConfiguration[],
  schema: AuthSchema,
): ApiKeyOwners {
  const models = new Set(configurations.map(({ references = "user" }) => references));
  const owners = [...models].map((model) => {
    const table = schema[model];
    if (isTable(table) && Object.hasOwn(getColumns(table), "id")) return [model, table] as const;
    throw new ConfigurationError(
      `apiKey() needs AuthConfig.schema.${model}, so that keys are refused once their owner is ` +
        "deleted or banned: pass authSchema of trellis generate auth-schema",
    );
  });
  return Object.fromEntries(owners);
}

function checkTable(table: unknown): ApiKeyTable {
  if (!isTable(table)) {
    throw new ConfigurationError(
      "apiKey() needs AuthConfig.schema.apikey: the table of better-auth's plugin, which trellis generate auth-schema writes",
    );
  }
  const columns = getColumns(table);
  const missing = API_KEY_COLUMNS.filter((name) => !Object.hasOwn(columns, name));
  if (missing.length > 0) {
    throw new ConfigurationError(
      `apiKey(): AuthConfig.schema.apikey lacks ${missing.join(", ")}: declare the columns of ` +
        "better-auth's plugin",
    );
  }
  return table as typeof table & ApiKeyTable;
}
