import { getTableName, is, Table } from "drizzle-orm";
import { listPlugins } from "../../auth/accounts/plugins.ts";
import { SECOND_FACTOR_SCHEMA } from "../../auth/accounts/second_factor.ts";
import { loadTableDescriptions } from "../../auth/better_auth/load_better_auth.ts";
import type { AuthConfig } from "../../auth/config/config.ts";
import {
  AUTH_ACCOUNT_COLUMNS,
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
  AUTH_VERIFICATION_COLUMNS,
} from "../../auth/tables/columns.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { snakeCase } from "../discovery/snake_case.ts";

/** A column of an auth table. */
export interface AuthColumn {
  readonly property: string;
  /** Name in the database. */
  readonly name: string;
  /** drizzle's function, such as `text`. */
  readonly builder: string;
  /** The column in TypeScript: `text("role")`. */
  readonly code: string;
  readonly isRequired: boolean;
}

/** An index or a unique constraint of several columns. */
export interface AuthIndex {
  readonly name: string;
  readonly properties: readonly string[];
  readonly isUnique: boolean;
}

/** A table for a model of better-auth. */
export interface AuthTable {
  /** Key in `AuthConfig.schema`. */
  readonly model: string;
  /** Name in the database. */
  readonly name: string;
  /** Name of the constant in TypeScript. */
  readonly constant: string;
  /** Exported columns of the package that the table spreads; their columns are in `columns` too. */
  readonly spread?: string;
  /** The column of the id, and the others in the order of better-auth. */
  readonly columns: readonly AuthColumn[];
  /** Properties of `columns` that the spread brings. */
  readonly spreadProperties: readonly string[];
  readonly indexes: readonly AuthIndex[];
}

/** A field in better-auth's description. */
interface LibraryField {
  readonly type: string | readonly string[];
  readonly required?: boolean;
  readonly unique?: boolean;
  readonly index?: boolean;
  readonly references?: { readonly field: string };
  readonly fieldName?: string;
  readonly defaultValue?: unknown;
  readonly onUpdate?: unknown;
}

/** A table in better-auth's description. */
interface LibraryTable {
  readonly modelName: string;
  readonly fields: Readonly<Record<string, LibraryField>>;
  readonly indexes?: readonly { readonly fields: readonly string[]; readonly unique?: boolean }[];
  readonly disableMigrations?: boolean;
}

/** How ids are made: UUIDs, numbers of the database, or texts of a function. */
type AuthIds = "uuid" | "identity" | "text";

/**
 * Lists the tables that better-auth needs for the options and plugins of a configuration. Reads
 * better-auth's own description. Needs no database and no secret.
 *
 * @param config The configuration; `secret` and `baseURL` are not read. A table in `schema` determines the name.
 * @returns One table per model, in the order of better-auth.
 * @throws {ConfigurationError} If better-auth is not installed, or a built-in column is renamed.
 */
export async function describeAuthTables(config: AuthConfig): Promise<AuthTable[]> {
  const { secret: _, baseURL: __, schema = {}, ...options } = config;
  const [getAuthTables, plugins] = await Promise.all([
    loadTableDescriptions(),
    listPlugins(config.plugins, config.audit),
  ]);
  const hasSecondFactor = plugins.some(({ id }) => id === "two-factor");
  const described = hasSecondFactor
    ? [...plugins, { id: "trellis-second-factor", schema: SECOND_FACTOR_SCHEMA }]
    : plugins;
  // the limits are on by default where the routes are deployed, also if `baseURL` is local here
  const rateLimit = options.rateLimit?.enabled === false
    ? options.rateLimit
    : { storage: "database" as const, ...options.rateLimit };
  const tables = getAuthTables(
    { ...options, rateLimit, plugins: described } as Parameters<typeof getAuthTables>[0],
  ) as Readonly<Record<string, LibraryTable>>;
  const ids = getIds(config);
  return Object.entries(tables).filter(([, table]) => table.disableMigrations !== true)
    .map(([key, table]) => toAuthTable(key, table, ids, schema[table.modelName]));
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function getIds({ advanced }: AuthConfig): AuthIds {
  const generateId = advanced?.database?.generateId;
  if (generateId === "serial") return "identity";
  if (typeof generateId !== "function") return "uuid";
  return UUID.test(String(generateId({ model: "user" }))) ? "uuid" : "text";
}

/** The exported columns of this package, by the names that tables spread. */
export const AUTH_COLUMNS: Readonly<Record<string, object>> = {
  AUTH_ACCOUNT_COLUMNS,
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
  AUTH_VERIFICATION_COLUMNS,
};

/** A built-in table. */
interface BuiltIn {
  readonly table: string;
  /** Name of the exported columns. */
  readonly spread: string;
  /** Unique constraints that better-auth does not describe. */
  readonly uniques?: readonly (readonly string[])[];
}

const BUILT_IN: Readonly<Record<string, BuiltIn>> = {
  user: { table: "users", spread: "AUTH_USER_COLUMNS" },
  session: { table: "sessions", spread: "AUTH_SESSION_COLUMNS" },
  account: {
    table: "accounts",
    spread: "AUTH_ACCOUNT_COLUMNS",
    uniques: [["providerId", "accountId"]],
  },
  verification: { table: "verification", spread: "AUTH_VERIFICATION_COLUMNS" },
};

function toAuthTable(
  key: string,
  { modelName: model, fields, indexes = [] }: LibraryTable,
  ids: AuthIds,
  given: unknown,
): AuthTable {
  const builtIn = Object.hasOwn(BUILT_IN, model) ? BUILT_IN[model] : undefined;
  const getProperty = (field: string) => fields[field]?.fieldName ?? field;
  const listed = Object.entries(fields).filter(([field]) => field !== "id");
  const columns = [
    toIdColumn(ids),
    ...listed.map(([name, field]) => toColumn(getProperty(name), field, ids)),
  ];
  const properties = columns.map(({ property }) => property);
  const builtInProperties = Object.keys(AUTH_COLUMNS[builtIn?.spread ?? ""] ?? {});
  const lacking = builtInProperties.filter((property) => !properties.includes(property));
  if (lacking.length > 0) {
    throw new ConfigurationError(
      `AuthConfig.${model}.fields renames ${
        lacking.join(", ")
      }, which is not supported: name the columns in ` +
        `a drizzle table and pass it as AuthConfig.schema.${model}`,
    );
  }
  // the configuration chose the name of the model
  const chosen = model === key ? undefined : model;
  const name = is(given, Table)
    ? getTableName(given)
    : chosen ?? builtIn?.table ?? pluralize(snakeCase(model));
  const spread = properties.filter((property) =>
    builtInProperties.includes(property) &&
    (ids === "uuid" || property !== "id" && property !== "userId")
  );
  const nameIndex = (properties: readonly string[], isUnique: boolean): AuthIndex => {
    const names = properties.map((property) =>
      columns.find((column) => column.property === property)!.name
    );
    const full = `${name}_${names.join("_")}_${isUnique ? "unique" : "idx"}`;
    return { name: full.slice(0, MAX_NAME), properties, isUnique };
  };
  return {
    model,
    name,
    constant: toCamelCase(name),
    ...builtIn !== undefined && { spread: builtIn.spread },
    columns,
    spreadProperties: spread,
    indexes: [
      ...(builtIn?.uniques ?? []).map((properties) => nameIndex(properties, true)),
      ...listed.filter(([, { index, unique }]) => index === true && unique !== true)
        .map(([field]) => nameIndex([getProperty(field)], false)),
      ...indexes.map(({ fields, unique }) => nameIndex(fields.map(getProperty), unique === true)),
    ],
  };
}

/** PostgreSQL cuts longer names. */
const MAX_NAME = 63;

const ID_CODE: Readonly<Record<AuthIds, string>> = {
  uuid: `uuid("id").defaultRandom().primaryKey()`,
  identity: `bigint("id", { mode: "number" }).generatedByDefaultAsIdentity().primaryKey()`,
  text: `text("id").primaryKey()`,
};

const ID_BUILDERS: Readonly<Record<AuthIds, string>> = {
  uuid: "uuid",
  identity: "bigint",
  text: "text",
};

function toIdColumn(ids: AuthIds): AuthColumn {
  const builder = ID_BUILDERS[ids];
  return { property: "id", name: "id", builder, code: ID_CODE[ids], isRequired: true };
}

/** drizzle's functions by better-auth's types. A list of values is an enumeration of texts. */
const BUILDERS: Readonly<Record<string, string>> = {
  // 32 bits are too few for milliseconds
  number: "bigint",
  boolean: "boolean",
  date: "timestamp",
  json: "jsonb",
  "string[]": "jsonb",
  "number[]": "jsonb",
};

const BUILDER_OPTIONS: Readonly<Record<string, string>> = {
  bigint: `, { mode: "number" }`,
  timestamp: ", { withTimezone: true }",
};

function toColumn(property: string, field: LibraryField, ids: AuthIds): AuthColumn {
  const { defaultValue } = field;
  const name = snakeCase(property);
  const type = String(field.type);
  const isReference = field.references?.field === "id";
  const builder = isReference ? ID_BUILDERS[ids] : BUILDERS[type] ?? "text";
  const isRequired = field.required !== false;
  // a function of better-auth sets the others
  const startsNow = type === "date" && typeof defaultValue === "function" &&
    defaultValue() instanceof Date;
  const hasDefault = !startsNow && defaultValue !== undefined && defaultValue !== null &&
    typeof defaultValue !== "function" && (builder === "jsonb" || typeof defaultValue !== "object");
  const calls = [
    `${builder}(${JSON.stringify(name)}${BUILDER_OPTIONS[builder] ?? ""})`,
    ...type.endsWith("[]") ? [`$type<${type}>()`] : [],
    ...startsNow ? ["defaultNow()"] : [],
    ...hasDefault ? [`default(${JSON.stringify(defaultValue)})`] : [],
    ...isRequired ? ["notNull()"] : [],
    ...field.unique === true ? ["unique()"] : [],
    ...type === "date" && typeof field.onUpdate === "function"
      ? ["$onUpdate(() => new Date())"]
      : [],
  ];
  return { property, name, builder, code: calls.join("."), isRequired };
}

function toCamelCase(name: string): string {
  const words = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const [first = "table", ...rest] = words;
  const joined = first[0].toLowerCase() + first.slice(1) +
    rest.map((word) => word[0].toUpperCase() + word.slice(1)).join("");
  return /^[0-9]/.test(joined) ? `t${joined}` : joined;
}

/** Forms the plural of an English noun: `passkey` becomes `passkeys`, `address` `addresses`. */
export function pluralize(noun: string): string {
  if (/(?:ss|x|ch|sh)$/.test(noun)) return `${noun}es`;
  if (noun.endsWith("s")) return noun;
  if (/[^aeiou]y$/.test(noun)) return `${noun.slice(0, -1)}ies`;
  return `${noun}s`;
}
