import type { AuthConfig } from "../config/config.ts";
import { loadTableDescriptions } from "../better_auth/load_better_auth.ts";
import { listPlugins } from "./plugins.ts";
import { SECOND_FACTOR_SCHEMA } from "./second_factor.ts";

/** The type of a field of better-auth. */
export type AuthFieldType = "string" | "number" | "boolean" | "date" | "json";

/** A field of a model of better-auth. */
export interface AuthField {
  /** Property of the drizzle table. */
  readonly property: string;
  /** Type; lists of texts and numbers are `json`. */
  readonly type: AuthFieldType;
  /** Type of the values of a `json` field, in TypeScript. */
  readonly jsonType?: string;
  /** True if each row has a value. */
  readonly isRequired: boolean;
  readonly isUnique: boolean;
  readonly isIndexed: boolean;
  /** True if the field holds the id of another row. */
  readonly isReference: boolean;
  /** Default for rows that do not set the field; a function of better-auth sets the others. */
  readonly defaultValue?: unknown;
  /** True if the default is the current time. */
  readonly startsNow: boolean;
  /** True if each change of the row sets the field to the current time. */
  readonly followsChanges: boolean;
}

/** A model of better-auth, which is stored in one table. */
export interface AuthModel {
  /** Key of the table in `AuthConfig.schema`. */
  readonly name: string;
  /** True if the configuration chose the name, which is then the table's name. */
  readonly isRenamed: boolean;
  /** Fields without `id`, in the order of better-auth. */
  readonly fields: readonly AuthField[];
  /** Indexes of several fields, and those that are not given at the field. */
  readonly indexes: readonly {
    readonly properties: readonly string[];
    readonly isUnique: boolean;
  }[];
}

/** How ids are made: UUIDs, numbers of the database, or texts of a function. */
export type AuthIds = "uuid" | "identity" | "text";

/** The tables that a configuration needs. */
export interface AuthTables {
  readonly models: readonly AuthModel[];
  readonly ids: AuthIds;
}

/**
 * Lists the tables that better-auth needs for the options and plugins of a configuration. Reads
 * better-auth's own description. Needs no database and no secret.
 *
 * @param config The configuration; `secret`, `baseURL` and `schema` are not read.
 * @returns The tables.
 * @throws {ConfigurationError} If better-auth is not installed.
 */
export async function describeAuthTables(config: AuthConfig): Promise<AuthTables> {
  const [getAuthTables, plugins] = await Promise.all([
    loadTableDescriptions(),
    listPlugins(config.plugins, config.audit),
  ]);
  const hasSecondFactor = plugins.some(({ id }) => id === "two-factor");
  const described = hasSecondFactor
    ? [...plugins, { id: "trellis-second-factor", schema: SECOND_FACTOR_SCHEMA }]
    : plugins;
  const { secret: _, baseURL: __, schema: ___, ...options } = config;
  // the limits are on by default where the routes are deployed, also if `baseURL` is local here
  const rateLimit = options.rateLimit?.enabled === false
    ? options.rateLimit
    : { storage: "database" as const, ...options.rateLimit };
  const tables = getAuthTables(
    { ...options, rateLimit, plugins: described } as Parameters<typeof getAuthTables>[0],
  );
  const models = Object.entries(tables).filter(([, table]) => table.disableMigrations !== true);
  return {
    models: models.map(([key, table]) => toModel(key, table as LibraryTable)),
    ids: getIds(config),
  };
}

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

interface LibraryTable {
  readonly modelName: string;
  readonly fields: Readonly<Record<string, LibraryField>>;
  readonly indexes?: readonly { readonly fields: readonly string[]; readonly unique?: boolean }[];
}

function toModel(key: string, { modelName, fields, indexes = [] }: LibraryTable): AuthModel {
  const getProperty = (field: string) => fields[field]?.fieldName ?? field;
  return {
    name: modelName,
    isRenamed: modelName !== key,
    fields: Object.entries(fields).filter(([name]) => name !== "id").map(([name, field]) =>
      toField(getProperty(name), field)
    ),
    indexes: indexes.map(({ fields, unique }) => ({
      properties: fields.map(getProperty),
      isUnique: unique === true,
    })),
  };
}

function toField(property: string, field: LibraryField): AuthField {
  const { type, jsonType } = toType(field.type);
  const startsNow = type === "date" && getDefault(field) instanceof Date;
  const isLiteral = field.defaultValue !== undefined && field.defaultValue !== null &&
    typeof field.defaultValue !== "function";
  return {
    property,
    type,
    ...jsonType !== undefined && { jsonType },
    isRequired: field.required !== false,
    isUnique: field.unique === true,
    isIndexed: field.index === true && field.unique !== true,
    isReference: field.references?.field === "id",
    ...isLiteral && { defaultValue: field.defaultValue },
    startsNow,
    followsChanges: type === "date" && typeof field.onUpdate === "function",
  };
}

/** Returns the default, calling it if it is a function. */
function getDefault({ defaultValue }: LibraryField): unknown {
  return typeof defaultValue === "function" ? defaultValue() : defaultValue;
}

function toType(type: LibraryField["type"]): { type: AuthFieldType; jsonType?: string } {
  // a list is an enumeration of texts
  if (typeof type !== "string") return { type: "string" };
  if (type === "string[]" || type === "number[]") return { type: "json", jsonType: type };
  if (type === "number" || type === "boolean" || type === "date" || type === "json") {
    return { type };
  }
  return { type: "string" };
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function getIds({ advanced }: AuthConfig): AuthIds {
  const generateId = advanced?.database?.generateId;
  if (generateId === "serial") return "identity";
  if (typeof generateId !== "function") return "uuid";
  return UUID.test(String(generateId({ model: "user" }))) ? "uuid" : "text";
}
