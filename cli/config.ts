import type { DatabaseOperation, TablePermission } from "../core/mod.ts";
import { ConfigurationError } from "../errors/mod.ts";

/** A table and what a function may do with it, as the configuration writes it. */
export interface ConfiguredGrant {
  /** The table's name in the database. */
  table: string;
  /** What may be done with it: `"SELECT"` or `DatabaseOperation.Select`, and so on. */
  operations: (DatabaseOperation | `${DatabaseOperation}`)[];
}

/** Settings of `trellis generate permissions`. */
export interface PermissionsSettings {
  /**
   * Folder of the SQL files, which `applyPermissions` reads.
   * @default "permissions"
   */
  dir?: string;
  /**
   * Terraform file with the database role of each function, for `DATABASE_USERNAME`.
   * @default "infra/database_roles.tf"
   */
  terraformFile?: string;
  /**
   * Start of every role's name; it keeps functions' roles apart from all others, such as `admin`.
   * @default "fn_"
   */
  rolePrefix?: string;
  /**
   * What functions need beside what their sources show, by function name. For these functions a place that cannot be told
   * from the text is a warning: whoever lists them here vouches for them.
   * @default {}
   */
  functions?: Record<string, ConfiguredGrant[]>;
}

/** What `trellis.config.ts` exports as its default. Paths are relative to that file. */
export interface TrellisConfig {
  /**
   * Folder of the functions: `api/`, `queue/`, `topic/`, `event/`, `schedule/`, `storage/`, `websocket/`, `authorizer/` and
   * `standalone/` are in it.
   * @default "src/functions"
   */
  functionsDir?: string;
  /** Database roles and grants. */
  permissions?: PermissionsSettings;
}

/** A configuration that was checked, with its defaults. */
export interface ResolvedConfig {
  readonly functionsDir: string;
  readonly permissions:
    & Readonly<Required<Omit<PermissionsSettings, "functions">>>
    & { readonly functions: Readonly<Record<string, TablePermission[]>> };
}

/**
 * Types the configuration in `trellis.config.ts`. The file is read and not run: everything in it is written out, as
 * literals and constants.
 *
 * @param config The configuration.
 * @returns The same.
 *
 * @example
 * ```ts
 * import { defineConfig } from "@trellis/fn/cli";
 *
 * const config = defineConfig({ functionsDir: "src/functions", permissions: { dir: "permissions" } });
 * console.log(config.functionsDir); // src/functions
 * // in trellis.config.ts: export default config;
 * ```
 */
export function defineConfig(config: TrellisConfig): TrellisConfig {
  return config;
}

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string" && value.trim() !== "";
const isObject: Check = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

const CHECKS: Readonly<Record<string, readonly [what: string, check: Check]>> = {
  functionsDir: ["a folder", isText],
  permissions: ["an object", isObject],
  "permissions.dir": ["a folder", isText],
  "permissions.terraformFile": ["a file that ends in .tf", (value) => isText(value) && String(value).endsWith(".tf")],
  "permissions.rolePrefix": [
    "lower-case letters, digits and _, beginning with a letter",
    (value) => typeof value === "string" && /^(?:[a-z][a-z0-9_]{0,30})?$/.test(value) && !value.startsWith("pg_"),
  ],
  "permissions.functions": ["an object: { FunctionName: [{ table, operations }] }", isGrantTable],
};

function isGrantTable(value: unknown): boolean {
  return isObject(value) &&
    Object.values(value as object).every((list) =>
      Array.isArray(list) &&
      list.every((entry) =>
        isObject(entry) && isText(entry.table) && Array.isArray(entry.operations) &&
        entry.operations.every((operation: unknown) => /^(?:SELECT|INSERT|UPDATE|DELETE|ALL)$/.test(String(operation)))
      )
    );
}

/**
 * Checks a configuration and fills in its defaults.
 *
 * @param config What the file says.
 * @param file The file's name, for messages.
 * @returns The checked configuration.
 * @throws {ConfigurationError} When a setting is unknown or wrong; the message names it.
 */
export function resolveConfig(config: unknown, file: string): ResolvedConfig {
  if (!isObject(config)) {
    throw new ConfigurationError(`${file} exports no configuration: export default defineConfig({ … })`);
  }
  checkLevel(config as Record<string, unknown>, "", file);
  const { functionsDir = "src/functions", permissions = {} } = config as TrellisConfig;
  return {
    functionsDir,
    permissions: {
      dir: "permissions",
      terraformFile: "infra/database_roles.tf",
      rolePrefix: "fn_",
      ...permissions,
      functions: (permissions.functions ?? {}) as Record<string, TablePermission[]>,
    },
  };
}

function checkLevel(level: Record<string, unknown>, prefix: string, file: string): void {
  for (const [key, value] of Object.entries(level)) {
    if (value === undefined) continue;
    const name = prefix + key;
    const known = Object.hasOwn(CHECKS, name) ? CHECKS[name] : undefined;
    if (known === undefined) {
      const siblings = Object.keys(CHECKS).filter((each) =>
        each.startsWith(prefix) && !each.slice(prefix.length).includes(".")
      );
      throw new ConfigurationError(`${file}: there is no setting ${name}; known are ${siblings.join(", ")}`);
    }
    const [what, check] = known;
    if (!check(value)) throw new ConfigurationError(`${file}: ${name} must be ${what}, got ${JSON.stringify(value)}`);
    if (name === "permissions") checkLevel(value as Record<string, unknown>, "permissions.", file);
  }
}
