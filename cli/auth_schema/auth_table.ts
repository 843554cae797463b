import {
  AUTH_ACCOUNT_COLUMNS,
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
  AUTH_VERIFICATION_COLUMNS,
} from "../../auth/columns.ts";
import { getTableName, is, Table } from "drizzle-orm";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type {
  AuthField,
  AuthIds,
  AuthModel,
  AuthTables,
} from "../../auth/accounts/describe_tables.ts";
import { quoteLiteral } from "../../sql/quote.ts";
import { snakeCase } from "../discovery/snake_case.ts";

/** A column of an auth table, as drizzle and as SQL. */
export interface AuthColumn {
  readonly property: string;
  /** Name in the database. */
  readonly name: string;
  /** drizzle's function, such as `text`. */
  readonly builder: string;
  /** The column in TypeScript: `text("role")`. */
  readonly code: string;
  /** Type in SQL. */
  readonly type: string;
  readonly isRequired: boolean;
  /** Default in SQL. */
  readonly default?: string;
  readonly isUnique: boolean;
}

/** An index or a unique constraint of several columns. */
export interface AuthIndex {
  readonly name: string;
  readonly properties: readonly string[];
  readonly columns: readonly string[];
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
  readonly columns: readonly AuthColumn[];
  /** Properties of `columns` that the spread brings. */
  readonly spreadProperties: ReadonlySet<string>;
  readonly indexes: readonly AuthIndex[];
}

/** A built-in table. */
interface BuiltIn {
  readonly table: string;
  /** Name of the exported columns. */
  readonly spread: string;
  readonly properties: readonly string[];
  /** Unique constraints that better-auth does not describe. */
  readonly uniques: readonly (readonly string[])[];
}

const BUILT_IN: Readonly<Record<string, BuiltIn>> = {
  user: {
    table: "users",
    spread: "AUTH_USER_COLUMNS",
    properties: Object.keys(AUTH_USER_COLUMNS),
    uniques: [],
  },
  session: {
    table: "sessions",
    spread: "AUTH_SESSION_COLUMNS",
    properties: Object.keys(AUTH_SESSION_COLUMNS),
    uniques: [],
  },
  account: {
    table: "accounts",
    spread: "AUTH_ACCOUNT_COLUMNS",
    properties: Object.keys(AUTH_ACCOUNT_COLUMNS),
    uniques: [["providerId", "accountId"]],
  },
  verification: {
    table: "verification",
    spread: "AUTH_VERIFICATION_COLUMNS",
    properties: Object.keys(AUTH_VERIFICATION_COLUMNS),
    uniques: [],
  },
};

/**
 * Converts better-auth's description to tables.
 *
 * @param described The models.
 * @param schema `AuthConfig.schema`: a table in it determines the name.
 * @returns One table per model, in the order of better-auth.
 */
export function toAuthTables(
  { models, ids }: AuthTables,
  schema: Readonly<Record<string, unknown>> = {},
): AuthTable[] {
  return models.map((model) => toAuthTable(model, ids, schema[model.name]));
}

function toAuthTable(model: AuthModel, ids: AuthIds, given: unknown): AuthTable {
  const builtIn = Object.hasOwn(BUILT_IN, model.name) ? BUILT_IN[model.name] : undefined;
  const properties = ["id", ...model.fields.map(({ property }) => property)];
  const lacking = builtIn?.properties.filter((property) => !properties.includes(property)) ?? [];
  if (lacking.length > 0) {
    throw new ConfigurationError(
      `AuthConfig.${model.name}.fields renames ${
        lacking.join(", ")
      }, which is not supported: name the columns in ` +
        `a drizzle table and pass it as AuthConfig.schema.${model.name}`,
    );
  }
  const chosen = model.isRenamed ? model.name : undefined;
  const name = is(given, Table)
    ? getTableName(given)
    : chosen ?? builtIn?.table ?? pluralize(snakeCase(model.name));
  const isBuiltIn = (property: string) => builtIn?.properties.includes(property) === true;
  const columns = [toIdColumn(ids), ...model.fields.map((field) => toColumn(field, ids))].map((
    column,
  ) => isBuiltIn(column.property) ? { ...column, ...BUILT_IN_DEFAULTS[column.property] } : column);
  const spread = columns.map(({ property }) => property).filter((property) =>
    isBuiltIn(property) && (ids === "uuid" || property !== "id" && property !== "userId")
  );
  return {
    model: model.name,
    name,
    constant: toCamelCase(name),
    ...builtIn !== undefined && { spread: builtIn.spread },
    columns,
    spreadProperties: new Set(spread),
    indexes: toIndexes(name, model, columns, builtIn?.uniques ?? []),
  };
}

/** Defaults of the built-in columns, which better-auth sets itself. */
const BUILT_IN_DEFAULTS: Readonly<Record<string, { default: string } | undefined>> = {
  createdAt: { default: "now()" },
  updatedAt: { default: "now()" },
};

function toIndexes(
  table: string,
  model: AuthModel,
  columns: readonly AuthColumn[],
  uniques: readonly (readonly string[])[],
): AuthIndex[] {
  const names = new Map(columns.map(({ property, name }) => [property, name]));
  const all = [
    ...uniques.map((properties) => ({ properties, isUnique: true })),
    ...model.fields.filter(({ isIndexed }) => isIndexed).map(({ property }) => ({
      properties: [property],
      isUnique: false,
    })),
    ...model.indexes,
  ];
  return all.map(({ properties, isUnique }) => {
    const list = properties.map((property) => names.get(property)!);
    const name = `${table}_${list.join("_")}_${isUnique ? "unique" : "idx"}`;
    return { name: cut(name), properties, columns: list, isUnique };
  });
}

function toIdColumn(ids: AuthIds): AuthColumn {
  const common = { property: "id", name: "id", isRequired: true, isUnique: false };
  switch (ids) {
    case "uuid":
      return {
        ...common,
        builder: "uuid",
        code: `uuid("id").defaultRandom().primaryKey()`,
        type: "uuid PRIMARY KEY",
        default: "gen_random_uuid()",
      };
    case "identity":
      return {
        ...common,
        builder: "bigint",
        code: `bigint("id", { mode: "number" }).generatedByDefaultAsIdentity().primaryKey()`,
        type: "bigint PRIMARY KEY GENERATED BY DEFAULT AS IDENTITY",
      };
    case "text":
      return {
        ...common,
        builder: "text",
        code: `text("id").primaryKey()`,
        type: "text PRIMARY KEY",
      };
  }
}

const ID_TYPES: Readonly<Record<AuthIds, readonly [builder: string, type: string]>> = {
  uuid: ["uuid", "uuid"],
  identity: ["bigint", "bigint"],
  text: ["text", "text"],
};

const TYPES: Readonly<Record<AuthField["type"], readonly [builder: string, type: string]>> = {
  string: ["text", "text"],
  // 32 bits are too few for milliseconds
  number: ["bigint", "bigint"],
  boolean: ["boolean", "boolean"],
  date: ["timestamp", "timestamp with time zone"],
  json: ["jsonb", "jsonb"],
};

const BUILDER_OPTIONS: Readonly<Record<string, string>> = {
  bigint: `, { mode: "number" }`,
  timestamp: ", { withTimezone: true }",
};

function toColumn(field: AuthField, ids: AuthIds): AuthColumn {
  const { property, isRequired, isUnique, jsonType, defaultValue, startsNow } = field;
  const name = snakeCase(property);
  const [builder, type] = field.isReference ? ID_TYPES[ids] : TYPES[field.type];
  const sqlDefault = startsNow ? "now()" : toSqlDefault(field);
  const calls = [
    `${builder}(${JSON.stringify(name)}${BUILDER_OPTIONS[builder] ?? ""})`,
    ...jsonType === undefined ? [] : [`$type<${jsonType}>()`],
    ...startsNow ? ["defaultNow()"] : [],
    ...!startsNow && sqlDefault !== undefined ? [`default(${JSON.stringify(defaultValue)})`] : [],
    ...isRequired ? ["notNull()"] : [],
    ...isUnique ? ["unique()"] : [],
    ...field.followsChanges ? ["$onUpdate(() => new Date())"] : [],
  ];
  return {
    property,
    name,
    builder,
    code: calls.join("."),
    type,
    isRequired,
    ...sqlDefault !== undefined && { default: sqlDefault },
    isUnique,
  };
}

function toSqlDefault({ type, defaultValue }: AuthField): string | undefined {
  if (defaultValue === undefined) return undefined;
  if (type === "json") return `${quoteLiteral(JSON.stringify(defaultValue))}::jsonb`;
  if (typeof defaultValue === "string") return quoteLiteral(defaultValue);
  return typeof defaultValue === "boolean" || typeof defaultValue === "number"
    ? String(defaultValue)
    : undefined;
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

/** PostgreSQL cuts longer names. */
const MAX_NAME = 63;

function cut(name: string): string {
  return name.slice(0, MAX_NAME);
}
