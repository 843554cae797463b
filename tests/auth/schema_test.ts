import { assertEquals, assertFalse } from "@std/assert";
import { getTableColumns } from "drizzle-orm";
import {
  boolean,
  getTableConfig,
  index,
  type PgColumn,
  type PgTable,
  pgTable,
  text,
  timestamp,
  unique,
  uniqueKeyName,
  uuid,
} from "drizzle-orm/pg-core";
import {
  AUTH_ACCOUNT_COLUMNS,
  AUTH_MIGRATION_SQL,
  AUTH_ROUTES_TABLE_PERMISSIONS,
  AUTH_SCHEMA_MAPPING,
  AUTH_SESSION_COLUMNS,
  AUTH_TABLE_PERMISSIONS,
  AUTH_USER_COLUMNS,
  AUTH_VERIFICATION_COLUMNS,
  authAccounts,
  authSessions,
  authUsers,
  authVerification,
} from "../../auth/tables/schema.ts";
import { openAuthDatabase } from "./auth_database.ts";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;
function isTrue<T extends true>(_proof?: T): void {}

const instant = (name: "created_at") =>
  timestamp(name, { withTimezone: true }).defaultNow().notNull();
const changed = () =>
  timestamp("updated_at", { withTimezone: true }).defaultNow().notNull().$onUpdate(() =>
    new Date()
  );

/** The tables as one writes them with drizzle, without types of our own. */
const inferredUsers = pgTable("users", {
  id: uuid("id").defaultRandom().primaryKey(),
  name: text("name").notNull(),
  email: text("email").notNull().unique(),
  emailVerified: boolean("email_verified").default(false).notNull(),
  image: text("image"),
  createdAt: instant("created_at"),
  updatedAt: changed(),
});
const inferredSessions = pgTable("sessions", {
  id: uuid("id").defaultRandom().primaryKey(),
  expiresAt: timestamp("expires_at", { withTimezone: true }).notNull(),
  token: text("token").notNull().unique(),
  createdAt: instant("created_at"),
  updatedAt: changed(),
  ipAddress: text("ip_address"),
  userAgent: text("user_agent"),
  userId: uuid("user_id").notNull(),
}, (table) => [index("sessions_user_id_idx").on(table.userId)]);
const inferredAccounts = pgTable(
  "accounts",
  {
    id: uuid("id").defaultRandom().primaryKey(),
    accountId: text("account_id").notNull(),
    providerId: text("provider_id").notNull(),
    userId: uuid("user_id").notNull(),
    accessToken: text("access_token"),
    refreshToken: text("refresh_token"),
    idToken: text("id_token"),
    accessTokenExpiresAt: timestamp("access_token_expires_at", { withTimezone: true }),
    refreshTokenExpiresAt: timestamp("refresh_token_expires_at", { withTimezone: true }),
    scope: text("scope"),
    password: text("password"),
    createdAt: instant("created_at"),
    updatedAt: changed(),
  },
  (
    table,
  ) => [
    unique().on(table.providerId, table.accountId),
    index("accounts_user_id_idx").on(table.userId),
  ],
);
const inferredVerification = pgTable("verification", {
  id: uuid("id").defaultRandom().primaryKey(),
  identifier: text("identifier").notNull(),
  value: text("value").notNull(),
  expiresAt: timestamp("expires_at", { withTimezone: true }).notNull(),
  createdAt: instant("created_at"),
  updatedAt: changed(),
}, (table) => [index("verification_identifier_idx").on(table.identifier)]);

isTrue<Equal<typeof authUsers, typeof inferredUsers>>();
isTrue<Equal<typeof authSessions, typeof inferredSessions>>();
isTrue<Equal<typeof authAccounts, typeof inferredAccounts>>();
isTrue<Equal<typeof authVerification, typeof inferredVerification>>();

const ownUsers = pgTable("users", {
  ...AUTH_USER_COLUMNS,
  locale: text("locale").notNull().default("en"),
});
isTrue<
  Equal<typeof ownUsers.$inferInsert, {
    name: string;
    email: string;
    id?: string | undefined;
    emailVerified?: boolean | undefined;
    image?: string | null | undefined;
    createdAt?: Date | undefined;
    updatedAt?: Date | undefined;
    locale?: string | undefined;
  }>
>();

/** What makes a table in the database, in words that compare. */
function describe(table: PgTable): unknown {
  const { name, columns, indexes, uniqueConstraints, foreignKeys } = getTableConfig(table);
  return {
    name,
    columns: columns.map((
      column,
    ) => [column.name, column.getSQLType(), column.notNull, column.hasDefault, column.primary]),
    unique: [
      ...columns.filter((column) => column.isUnique).map((
        column,
      ) => [column.uniqueName, [column.name]]),
      ...uniqueConstraints.map((
        constraint,
      ) => [constraint.name, constraint.columns.map((column) => column.name)]),
    ],
    indexes: indexes.map((
      { config },
    ) => [config.name, config.columns.map((column) => (column as { name: string }).name)]),
    foreignKeys: foreignKeys.length,
  };
}

Deno.test("authUsers, authSessions, authAccounts and authVerification are what drizzle makes of the plain definition", () => {
  const pairs = [[authUsers, inferredUsers], [authSessions, inferredSessions], [
    authAccounts,
    inferredAccounts,
  ], [
    authVerification,
    inferredVerification,
  ]];
  for (const [ours, plain] of pairs) assertEquals(describe(ours), describe(plain));
});

Deno.test("AUTH_MIGRATION_SQL makes the tables that drizzle describes, and running it again changes nothing", async () => {
  const { pglite } = await openAuthDatabase();
  try {
    for (const statement of AUTH_MIGRATION_SQL.split("--> statement-breakpoint")) {
      await pglite.exec(statement);
    }
    for (const table of Object.values(AUTH_SCHEMA_MAPPING)) {
      const { name, columns, indexes, uniqueConstraints } = getTableConfig(table);
      const found = await pglite.query<
        { column_name: string; data_type: string; is_nullable: string; column_default: string }
      >(
        "SELECT column_name, data_type, is_nullable, column_default FROM information_schema.columns WHERE table_name = $1 ORDER BY ordinal_position",
        [name],
      );
      assertEquals(
        found.rows.map((
          row,
        ) => [
          row.column_name,
          row.data_type,
          row.is_nullable === "NO",
          row.column_default !== null,
        ]),
        columns.map((
          column,
        ) => [column.name, column.getSQLType(), column.notNull, column.default !== undefined]),
      );
      const inDatabase = await pglite.query<{ indexname: string }>(
        "SELECT indexname FROM pg_indexes WHERE tablename = $1",
        [name],
      );
      assertEquals(
        inDatabase.rows.map((row) => row.indexname).sort(),
        [
          `${name}_pkey`,
          ...columns.filter((column) => column.isUnique).map((column) =>
            column.uniqueName ?? uniqueKeyName(table, [column.name])
          ),
          ...uniqueConstraints.map((constraint) => constraint.getName()!),
          ...indexes.map(({ config }) => config.name!),
        ].sort(),
      );
    }
    const keys = await pglite.query(
      "SELECT 1 FROM information_schema.table_constraints WHERE constraint_type = 'FOREIGN KEY'",
    );
    assertEquals(keys.rows, []);
  } finally {
    await pglite.close();
  }
});

Deno.test("AUTH_USER_COLUMNS spreads into several tables, each with names of its own", () => {
  const people = pgTable("people", { ...AUTH_USER_COLUMNS, locale: text("locale") });
  const nameOf = ({ table, uniqueName }: PgColumn): string =>
    uniqueName ?? uniqueKeyName(table, ["email"]);
  assertEquals(nameOf(people.email), "people_email_unique");
  assertEquals(nameOf(authUsers.email), "users_email_unique");
  assertEquals(Object.keys(getTableColumns(people)), [
    ...Object.keys(getTableColumns(authUsers)),
    "locale",
  ]);
  assertFalse(people.id === (authUsers.id as unknown));
});

Deno.test("the four column exports hold the columns of the four tables", () => {
  assertEquals(Object.keys(AUTH_USER_COLUMNS), Object.keys(getTableColumns(authUsers)));
  assertEquals(Object.keys(AUTH_SESSION_COLUMNS), Object.keys(getTableColumns(authSessions)));
  assertEquals(Object.keys(AUTH_ACCOUNT_COLUMNS), Object.keys(getTableColumns(authAccounts)));
  assertEquals(
    Object.keys(AUTH_VERIFICATION_COLUMNS),
    Object.keys(getTableColumns(authVerification)),
  );
});

Deno.test("AUTH_TABLE_PERMISSIONS lists what the interface lists", () => {
  assertEquals(
    AUTH_TABLE_PERMISSIONS.map(({ table, operations }) => `${table}: ${operations.join(", ")}`),
    [
      "users: SELECT, INSERT, UPDATE",
      "sessions: SELECT, INSERT, UPDATE, DELETE",
      "accounts: SELECT, INSERT, DELETE",
      "verification: SELECT, INSERT, DELETE",
    ],
  );
});

Deno.test("AUTH_ROUTES_TABLE_PERMISSIONS adds updates of accounts and the table of limits", () => {
  const list = (permissions: typeof AUTH_TABLE_PERMISSIONS) =>
    permissions.flatMap(({ table, operations }) =>
      operations.map((operation) => `${operation} ${table}`)
    );
  const plain = list(AUTH_TABLE_PERMISSIONS);
  assertEquals(list(AUTH_ROUTES_TABLE_PERMISSIONS).filter((entry) => !plain.includes(entry)), [
    "UPDATE accounts",
    "SELECT rate_limits",
    "INSERT rate_limits",
    "UPDATE rate_limits",
  ]);
  assertEquals(plain.filter((entry) => !list(AUTH_ROUTES_TABLE_PERMISSIONS).includes(entry)), []);
});
