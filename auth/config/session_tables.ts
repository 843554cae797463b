/**
 * The built-in tables of users and sessions without drizzle, so that a session check loads none.
 * `../tables/schema.ts` has the same tables for drizzle.
 */
import { mapValues } from "../../core/lists/map_values.ts";
import type { SqlColumn } from "../../database/session/column_sql.ts";
import { COLUMNS, ENTITY_KIND, NAME, SCHEMA } from "../../database/session/drizzle_table.ts";

type SqlType = "uuid" | "text" | "boolean" | "timestamp with time zone";

/** A column of a built-in table. */
class BuiltInColumn implements SqlColumn {
  /** The kind of drizzle's class. */
  static readonly [ENTITY_KIND] = "PgColumn";
  readonly dataType: string;
  readonly columnType = "BuiltIn";

  constructor(
    readonly table: object,
    readonly name: string,
    readonly sqlType: SqlType,
  ) {
    this.dataType = sqlType === "timestamp with time zone" ? "date" : "string";
  }

  getSQLType(): string {
    return this.sqlType;
  }

  mapToDriverValue(value: unknown): unknown {
    return value instanceof Date ? value.toISOString() : value;
  }

  mapFromDriverValue(value: unknown): unknown {
    return this.dataType === "date" && typeof value === "string" ? new Date(value) : value;
  }
}

/** A built-in table. Its columns are its properties, as in drizzle. */
class BuiltInTable {
  /** The kind of drizzle's class. */
  static readonly [ENTITY_KIND] = "Table";
  readonly [NAME]: string;
  readonly [SCHEMA] = undefined;
  readonly [COLUMNS]: Readonly<Record<string, SqlColumn>>;

  constructor(name: string, columns: Readonly<Record<string, readonly [string, SqlType]>>) {
    this[NAME] = name;
    this[COLUMNS] = mapValues(columns, ([column, type]) => new BuiltInColumn(this, column, type));
  }
}

function createTable<Property extends string>(
  name: string,
  columns: Readonly<Record<Property, readonly [string, SqlType]>>,
): ModelTable<Property> {
  const table = new BuiltInTable(name, columns);
  return Object.assign(table, table[COLUMNS] as Readonly<Record<Property, SqlColumn>>);
}

const TIMES = {
  createdAt: ["created_at", "timestamp with time zone"],
  updatedAt: ["updated_at", "timestamp with time zone"],
} as const;

const USER_COLUMNS = {
  id: ["id", "uuid"],
  name: ["name", "text"],
  email: ["email", "text"],
  emailVerified: ["email_verified", "boolean"],
  image: ["image", "text"],
  ...TIMES,
} as const;

const SESSION_COLUMNS = {
  id: ["id", "uuid"],
  expiresAt: ["expires_at", "timestamp with time zone"],
  token: ["token", "text"],
  ...TIMES,
  ipAddress: ["ip_address", "text"],
  userAgent: ["user_agent", "text"],
  userId: ["user_id", "uuid"],
} as const;

/** A table of users or sessions: a built-in one, or drizzle's table of the application. */
export type ModelTable<Property extends string> = object & Readonly<Record<Property, SqlColumn>>;

/** A table of users. */
export type UserTable = ModelTable<keyof typeof USER_COLUMNS>;

/** A table of sessions. */
export type SessionTable = ModelTable<keyof typeof SESSION_COLUMNS>;

const USERS = /* @__PURE__ */ createTable("users", USER_COLUMNS);

const SESSIONS = /* @__PURE__ */ createTable("sessions", SESSION_COLUMNS);

/** Tables of an application by better-auth's model names. */
export type AuthSchema = Readonly<Record<string, unknown>>;

/** Returns the tables of session checks: those of the application, else the built-in ones. */
export function getSessionTables(
  { user = USERS, session = SESSIONS }: AuthSchema,
): { readonly user: UserTable; readonly session: SessionTable } {
  return { user: user as UserTable, session: session as SessionTable };
}

/** Column of sessions with the time at which the user has shown a second factor. */
export const SECOND_FACTOR_FIELD = "secondFactorAt";

/** The properties of the built-in columns by model. */
export const COLUMN_NAMES: Readonly<
  Record<"user" | "session" | "account" | "verification", readonly string[]>
> = {
  user: /* @__PURE__ */ Object.keys(USER_COLUMNS),
  session: /* @__PURE__ */ Object.keys(SESSION_COLUMNS),
  account: [
    "id",
    "accountId",
    "providerId",
    "userId",
    "accessToken",
    "refreshToken",
    "idToken",
    "accessTokenExpiresAt",
    "refreshTokenExpiresAt",
    "scope",
    "password",
    "createdAt",
    "updatedAt",
  ],
  verification: ["id", "identifier", "value", "expiresAt", "createdAt", "updatedAt"],
};
