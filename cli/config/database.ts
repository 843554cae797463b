import type { DatabaseProvider } from "../../database/config.ts";
import type { DistSqlOptions } from "../../database/distsql/options.ts";
import type { Mask } from "../database/clone/clone_options.ts";
import { type Check, isObject, isText, type SettingsGroup } from "./settings.ts";

/** Settings of the commands of `trellis db` and `trellis check`, and of `trellis dev`. Secrets stay in the environment. */
export interface DatabaseSettings {
  /**
   * Folder of the migrations.
   * @default "migrations"
   */
  migrationsDir?: string;
  /**
   * The table that says which migrations are applied.
   * @default "__orm_migrations"
   */
  migrationsTable?: string;
  /**
   * The schema of that table.
   * @default "orm"
   */
  migrationsSchema?: string;
  /**
   * Where the database lives; `DATABASE_PROVIDER` and `--provider` win.
   * @default told from what names the database
   */
  provider?: DatabaseProvider;
  /**
   * The environment variable with the connection string.
   * @default "DATABASE_URL"
   */
  urlEnv?: string;
  /** `distsql`: the cluster's host name; `DATABASE_ENDPOINT` and `--endpoint` win. */
  endpoint?: string;
  /** `distsql`: the region, where the endpoint does not tell it. */
  region?: string;
  /** `embedded-pg`: the folder of the database; `--folder` wins. */
  folder?: string;
  /**
   * Columns whose values `db clone` replaces, by `table.column`: `"null"`, `"hash"`, `"email"` (a hash
   * at example.com) or `{ text: "…" }`. NULL stays NULL; equal values stay equal within a clone.
   * @default {}
   */
  cloneMasks?: Record<string, Mask>;
  /**
   * Seconds after which a statement of a command that has no answer is given up; what migrations apply and `db clone`
   * copies may take an hour.
   * @default 60
   */
  statementTimeoutSeconds?: number;
  /** `distsql`: choices of the translation, for every command that translates migrations. */
  translation?: TranslationSettings;
}

/** Choices of the translation for Aurora DSQL; see `DistSqlOptions`. */
export type TranslationSettings = Pick<
  DistSqlOptions,
  "enums" | "numeric" | "identityCache" | "dropRowSecurity"
>;

const TRANSLATION: readonly string[] = ["enums", "numeric", "identityCache", "dropRowSecurity"];

const PROVIDERS: readonly string[] = ["distsql", "serverless-pg", "branching-pg", "embedded-pg"];

const isMasks: Check = (value) =>
  isObject(value) &&
  Object.entries(value).every(([column, mask]) =>
    /^[^.]+\.[^.]+(?:\.[^.]+)?$/.test(column) &&
    (["null", "hash", "email"].includes(String(mask)) ||
      (isObject(mask) && typeof mask.text === "string"))
  );

const isSeconds: Check = (value) => typeof value === "number" && value > 0 && value < 1e6;

/** What {@link DatabaseSettings} may be. */
export const DATABASE_SETTINGS = {
  checks: {
    migrationsDir: ["a folder", isText],
    migrationsTable: ["a name", isText],
    migrationsSchema: ["a name", isText],
    provider: [`one of ${PROVIDERS.join(", ")}`, (value) => PROVIDERS.includes(String(value))],
    urlEnv: [
      "the name of an environment variable, not its value",
      (value) => typeof value === "string" && /^[A-Za-z_][A-Za-z0-9_]*$/.test(value),
    ],
    endpoint: ["a host name", isText],
    region: ["a region", isText],
    folder: ["a folder", isText],
    cloneMasks: ['an object: { "table.column": "null" | "hash" | "email" | { text } }', isMasks],
    statementTimeoutSeconds: ["a number of seconds above 0", isSeconds],
    translation: [
      `an object with some of ${TRANSLATION.join(", ")}`,
      (value) => isObject(value) && Object.keys(value).every((name) => TRANSLATION.includes(name)),
    ],
  },
  defaults: {
    migrationsDir: "migrations",
    migrationsTable: "__orm_migrations",
    migrationsSchema: "orm",
    urlEnv: "DATABASE_URL",
    cloneMasks: {} as Record<string, Mask>,
  },
} as const satisfies SettingsGroup<DatabaseSettings, DatabaseSettings>;
