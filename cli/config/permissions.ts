import type { DatabaseOperation } from "../../database/queries/table_permission.ts";
import {
  type Check,
  FOLDER,
  isObject,
  isText,
  matching,
  oneOf,
  type SettingsGroup,
} from "./setting_rules.ts";

/** Operations that a function may perform on a table. */
export interface ConfiguredGrant {
  /** The table's name in the database. */
  table: string;
  /** `"SELECT"` or `DatabaseOperation.Select`, and so on. */
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
   * Prefix of all role names; it separates the roles of functions from others, such as `admin`.
   * @default "fn_"
   */
  rolePrefix?: string;
  /**
   * `"function"`: each function signs in to PostgreSQL with its own login, whose address is its
   * own secret. `"shared"`: all functions sign in with the login in the stage's address, which grants
   * do not bound: for poolers with their own list of users.
   * @default "function"
   */
  logins?: "function" | "shared";
  /**
   * Additional grants by function name. For a function listed here, code that cannot be resolved is
   * a warning instead of an error: the list is assumed to be complete.
   * @default {}
   */
  functions?: Record<string, ConfiguredGrant[]>;
}

const isGrantTable: Check = (value) =>
  isObject(value) &&
  Object.values(value).every((list) =>
    Array.isArray(list) &&
    list.every((entry) =>
      isObject(entry) && isText(entry.table) && Array.isArray(entry.operations) &&
      entry.operations.every((operation: unknown) =>
        /^(?:SELECT|INSERT|UPDATE|DELETE|ALL)$/.test(String(operation))
      )
    )
  );

/** Checks and defaults of {@link PermissionsSettings}. */
export const PERMISSIONS_SETTINGS = {
  checks: {
    dir: FOLDER,
    terraformFile: matching("a file that ends in .tf", /\.tf$/),
    rolePrefix: matching(
      "lower-case letters, digits and _, beginning with a letter",
      /^(?!pg_)(?:[a-z][a-z0-9_]{0,30})?$/,
    ),
    logins: oneOf("function", "shared"),
    functions: ["an object: { FunctionName: [{ table, operations }] }", isGrantTable],
  },
  defaults: {
    dir: "permissions",
    terraformFile: "infra/database_roles.tf",
    rolePrefix: "fn_",
    logins: "function",
    functions: {} as Record<string, ConfiguredGrant[]>,
  },
} as const satisfies SettingsGroup<PermissionsSettings, PermissionsSettings>;
