import { DATABASE_PROVIDERS, type DatabaseProvider } from "../../database/config/config.ts";
import type { DistSqlOptions } from "../../distsql/translate/context/options.ts";
import type { Mask } from "./clone.ts";
import {
  type Check,
  FOLDER,
  isObject,
  isText,
  listOf,
  matching,
  type SettingsGroup,
} from "./setting_rules.ts";

/** Settings of `trellis db`, `trellis check` and `trellis dev`. Secrets stay in the environment. */
export interface DatabaseSettings {
  /**
   * Folder of the migrations.
   * @default "migrations"
   */
  migrationsDir?: string;
  /**
   * Modules that export the drizzle tables, for `generate migration`.
   * @default ["src/schema.ts"] and auth.schemaFile, where they exist
   */
  schemaFiles?: string[];
  /**
   * Table that records applied migrations.
   * @default "__orm_migrations"
   */
  migrationsTable?: string;
  /**
   * Schema of that table.
   * @default "orm"
   */
  migrationsSchema?: string;
  /**
   * The database provider; `DATABASE_PROVIDER` and `--provider` take precedence.
   * @default derived from the connection settings
   */
  provider?: DatabaseProvider;
  /**
   * Environment variable that holds the connection string.
   * @default "DATABASE_URL"
   */
  urlEnv?: string;
  /** `distsql`: host name of the cluster; `DATABASE_ENDPOINT` and `--endpoint` take precedence. */
  endpoint?: string;
  /** `distsql`: AWS region, if the endpoint does not contain it. */
  region?: string;
  /** `embedded-pg`: folder of the database; `--folder` takes precedence. */
  folder?: string;
  /**
   * Columns whose values `db clone` replaces, by `table.column`: `"null"`, `"hash"`, `"email"` (a
   * hash
   * at example.com) or `{ text: "…" }`. NULL stays NULL; equal values stay equal within a clone.
   * @default {}
   */
  cloneMasks?: Record<string, Mask>;
  /**
   * Timeout in seconds for a statement of a command. Statements of migrations and copies of `db
   * clone` may run for an hour.
   * @default 60
   */
  statementTimeoutSeconds?: number;
  /** `distsql`: choices of the translation, for every command that translates migrations. */
  translation?: TranslationSettings;
}

/** Options of the translation for Aurora DSQL; see `DistSqlOptions`. */
export type TranslationSettings = Pick<
  DistSqlOptions,
  "enums" | "numeric" | "identityCache" | "dropRowSecurity"
>;

const TRANSLATION: readonly string[] = ["enums", "numeric", "identityCache", "dropRowSecurity"];

/** Returns true for the name of a database. */
export const isProvider: Check = (value) =>
  (DATABASE_PROVIDERS as readonly unknown[]).includes(value);

const isMasks: Check = (value) =>
  isObject(value) &&
  Object.entries(value).every(([column, mask]) =>
    /^[^.]+\.[^.]+(?:\.[^.]+)?$/.test(column) &&
    (["null", "hash", "email"].includes(String(mask)) ||
      (isObject(mask) && typeof mask.text === "string"))
  );

const isSeconds: Check = (value) => typeof value === "number" && value > 0 && value < 1e6;

/** Checks and defaults of {@link DatabaseSettings}. */
export const DATABASE_SETTINGS = {
  checks: {
    migrationsDir: FOLDER,
    schemaFiles: listOf('a list of TypeScript files, such as ["src/schema.ts"]', isText),
    migrationsTable: ["a name", isText],
    migrationsSchema: ["a name", isText],
    provider: [`one of ${DATABASE_PROVIDERS.join(", ")}`, isProvider],
    urlEnv: matching(
      "the name of an environment variable, not its value",
      /^[A-Za-z_][A-Za-z0-9_]*$/,
    ),
    endpoint: ["a host name", isText],
    region: ["a region", isText],
    folder: FOLDER,
    cloneMasks: ['an object: { "table.column": "null" | "hash" | "email" | { text } }', isMasks],
    statementTimeoutSeconds: ["a number of seconds above 0", isSeconds],
    translation: [
      `an object with some of ${TRANSLATION.join(", ")}`,
      (value) => isObject(value) && Object.keys(value).every((name) => TRANSLATION.includes(name)),
    ],
  },
  defaults: {
    migrationsDir: "migrations",
    schemaFiles: [] as string[],
    migrationsTable: "__orm_migrations",
    migrationsSchema: "orm",
    urlEnv: "DATABASE_URL",
    cloneMasks: {} as Record<string, Mask>,
  },
} as const satisfies SettingsGroup<DatabaseSettings, DatabaseSettings>;
