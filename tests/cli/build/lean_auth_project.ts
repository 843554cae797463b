/** A project whose functions check sessions and API keys with tables of its own. */

const SCHEMA = `import { AUTH_SESSION_COLUMNS, AUTH_USER_COLUMNS } from "@trellis/fn/auth/schema";
import { bigint, boolean, customType, index, integer, jsonb, pgSchema, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";

const instant = (name: string) => timestamp(name, { withTimezone: true });
const own = pgSchema("my auth");
export const people = own.table("people", {
  ...AUTH_USER_COLUMNS,
  role: text(),
  banned: boolean("banned"),
  banReason: text("ban_reason"),
  banExpires: instant("ban_expires"),
  settings: jsonb("settings"),
  credit: bigint("credit", { mode: "bigint" }).notNull().default(0n),
  secretNote: text("secret_note"),
}, (t) => [index("people_role").on(t.role)]);
export const visits = own.table("visits", {
  ...AUTH_SESSION_COLUMNS,
  activeOrganizationId: text("active_organization_id"),
  impersonatedBy: text("impersonated_by"),
});
export const companies = pgTable("companies", { id: uuid("id").primaryKey(), name: text("name").notNull(), slug: text("Slug").notNull() });
export const employees = pgTable("employees", {
  id: uuid("id").primaryKey(),
  organizationId: uuid("company_id").notNull().references(() => companies.id),
  userId: uuid("user_id").notNull(),
  role: text("role").notNull(),
});
export const keyColumns = {
  id: text("id").primaryKey(),
  configId: text("config_id").notNull(),
  name: text("name"),
  start: text("start"),
  referenceId: text("reference_id").notNull(),
  prefix: text("prefix"),
  key: text("key").notNull(),
  refillInterval: integer("refill_interval"),
  refillAmount: integer("refill_amount"),
  lastRefillAt: instant("last_refill_at"),
  enabled: boolean("enabled"),
  rateLimitEnabled: boolean("rate_limit_enabled"),
  rateLimitTimeWindow: bigint("rate_limit_time_window", { mode: "number" }),
  rateLimitMax: integer("rate_limit_max"),
  requestCount: bigint("request_count", { mode: "number" }),
  remaining: integer("remaining"),
  lastRequest: instant("last_request"),
  expiresAt: instant("expires_at"),
  createdAt: instant("created_at").notNull(),
  updatedAt: instant("updated_at").notNull(),
  permissions: text("permissions"),
  metadata: text("metadata"),
};
export const apikey = pgTable("api keys", keyColumns);
export const updatedKeys = pgTable("api keys", { ...keyColumns, updatedAt: instant("updated_at").notNull().$onUpdate(() => new Date()) });
export const touchedKeys = pgTable("api keys", { ...keyColumns, touchedAt: instant("touched_at").$onUpdate(() => new Date()) });
const place = customType<{ data: string }>({ dataType: () => "text" });
export const placedPeople = own.table("people", { ...AUTH_USER_COLUMNS, place: place("secret_note") });
`;

const CONFIG = `import { type AuthConfig, configureSessionAuth } from "@trellis/fn/auth";
import { getDb } from "./database.ts";
import { companies, employees, people, visits } from "./schema.ts";
export const authConfig: AuthConfig = {
  secret: "0123456789abcdef0123456789abcdef",
  baseURL: "http://localhost",
  user: { additionalFields: { secretNote: { type: "string", returned: false } } },
  schema: { user: people, session: visits, organization: companies, member: employees },
};
configureSessionAuth(getDb, authConfig);
`;

const config = (imports: string, schema: string): string =>
  `import { configureSessionAuth } from "@trellis/fn/auth";
import { getDb } from "./database.ts";
${imports}
configureSessionAuth(getDb, { secret: "0123456789abcdef0123456789abcdef", baseURL: "http://localhost", schema: ${schema} });
`;

const keys = (table: string): string =>
  `import { configureApiKeyAuth } from "@trellis/fn/auth";
import { getDb } from "./database.ts";
import { ${table} as apikey } from "./schema.ts";
configureApiKeyAuth(getDb, { schema: { apikey }, plugin: { disableKeyHashing: true } });
`;

const handler = (module: string, options: string, given: string): string =>
  `import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import "../../${module}.ts";
const asText = (_: string, value: unknown) => typeof value === "bigint" ? String(value) : value;
export const handler = defineApiHandler({ ${options} })(function answer({ context, ${given} }) {
  return buildValidatedResponse(context, 200, JSON.parse(JSON.stringify({ ${given} }, asText)));
});
`;

/** The functions: their module with the configuration, options, and what they answer. */
const FUNCTIONS: Readonly<Record<string, readonly [string, string, string]>> = {
  key: ["keys", 'auth: "api-key", permissions: { notes: ["read"] }', "userId, apiKey"],
  updated: ["updated_keys", 'auth: "api-key"', "userId, apiKey"],
  touched: ["touched_keys", 'auth: "api-key"', "userId, apiKey"],
  session: ["auth", 'auth: "session"', "session, userId"],
  member: ["auth", 'auth: "session", organization: {}', "session, organization"],
  owner: ["auth", 'auth: "session", organization: { role: ["owner", "admin"] }', "organization"],
  role: ["auth", 'auth: "session", roles: ["admin"]', "session"],
  fresh: ["auth", 'auth: "session", freshWithin: 3600', "session"],
  optional: ["auth", 'auth: "session", optional: true', "userId"],
  allowed: [
    "auth",
    'auth: "session", organization: {}, authorize: ({ organization }) => organization?.slug === "one"',
    "organization",
  ],
  mixed: ["mixed_auth", 'auth: "session", freshWithin: 3600', "session"],
  missing: ["auth_without_members", 'auth: "session", organization: {}', "organization"],
  placed: ["placed_auth", 'auth: "session"', "session"],
  shared: ["shared_auth", 'auth: "session"', "session"],
};

/** The files of the project, without the configuration of the package manager. */
export const LEAN_AUTH_FILES: Readonly<Record<string, string>> = {
  "trellis.config.ts": "export default { build: { precompile: true } };\n",
  "src/schema.ts": SCHEMA,
  "src/database.ts": `import { getDrizzleClient } from "@trellis/fn/database";
import { getRequiredEnv } from "@trellis/fn/env";
export const getDb = () => getDrizzleClient({ provider: "serverless-pg", connectionString: getRequiredEnv("DATABASE_URL") });
`,
  "src/auth.ts": CONFIG,
  "src/mixed_auth.ts": config(
    'import { visits as session } from "./schema.ts";',
    "{ session }",
  ),
  "src/auth_without_members.ts": config(
    'import { companies as organization, people as user, visits as session } from "./schema.ts";',
    "{ user, session, organization }",
  ),
  "src/placed_auth.ts": config(
    'import { placedPeople as user, visits as session } from "./schema.ts";',
    "{ user, session }",
  ),
  // the configuration is used for something else
  "src/shared_auth.ts": `import { configureSessionAuth } from "@trellis/fn/auth";
import { getDb } from "./database.ts";
import { people, visits } from "./schema.ts";
const config = { secret: "0123456789abcdef0123456789abcdef", baseURL: "http://localhost", schema: { user: people, session: visits } };
console.log(Object.keys(config));
configureSessionAuth(getDb, config);
`,
  "src/keys.ts": keys("apikey"),
  "src/updated_keys.ts": keys("updatedKeys"),
  "src/touched_keys.ts": keys("touchedKeys"),
  ...Object.fromEntries(
    Object.entries(FUNCTIONS).map(([name, parts]) => [
      `src/functions/api/${name}.get.ts`,
      handler(...parts),
    ]),
  ),
};

const KEY_NAMES = ["plain", "refilled", "limited", "full", "used", "expired", "disabled", "denied"];
const PEOPLE = [
  "owner",
  "member",
  "stranger",
  "nobody",
  "banned",
  "due",
  "old",
  "expired",
  "other",
];
const id = (kind: number, at: number): string => `00000000-0000-4000-8000-0000000${kind}000${at}`;

/** The keys and the tokens of sessions. */
export const CREDENTIALS = { keys: [...KEY_NAMES, "unknown"], tokens: [...PEOPLE, "unknown"] };

/** Tables and rows. */
export const LEAN_AUTH_TABLES = `CREATE SCHEMA "my auth";
CREATE TABLE "my auth".people (LIKE users INCLUDING ALL, role text, banned boolean, ban_reason text, ban_expires timestamptz,
  settings jsonb, credit bigint NOT NULL DEFAULT 0, secret_note text);
CREATE TABLE "my auth".visits (LIKE sessions INCLUDING ALL, active_organization_id text, impersonated_by text);
CREATE TABLE companies (id uuid PRIMARY KEY, name text NOT NULL, "Slug" text NOT NULL);
CREATE TABLE employees (id uuid PRIMARY KEY, company_id uuid NOT NULL, user_id uuid NOT NULL, role text NOT NULL);
CREATE TABLE "api keys" (id text PRIMARY KEY, config_id text NOT NULL, name text, start text, reference_id text NOT NULL,
  prefix text, key text NOT NULL, refill_interval integer, refill_amount integer, last_refill_at timestamptz, enabled boolean,
  rate_limit_enabled boolean, rate_limit_time_window bigint, rate_limit_max integer, request_count bigint, remaining integer,
  last_request timestamptz, expires_at timestamptz, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL,
  permissions text, metadata text, touched_at timestamptz);
${
  KEY_NAMES.map((name) =>
    `INSERT INTO "api keys" (id, key, name, config_id, reference_id, request_count, enabled, created_at, updated_at, permissions, metadata)
      VALUES ('${name}', '${name}', 'Key ${name}', 'default', 'u1', 0, true, '2020-01-01', '2020-01-01', '{"notes":["read"]}', '{"a":1}');`
  ).join("\n")
}
UPDATE "api keys" SET remaining = 0, refill_interval = 86400000, refill_amount = 5 WHERE id = 'refilled';
UPDATE "api keys" SET remaining = 3, rate_limit_enabled = true, rate_limit_time_window = 86400000, rate_limit_max = 2 WHERE id = 'limited';
UPDATE "api keys" SET remaining = 3, rate_limit_time_window = 86400000, rate_limit_max = 1, request_count = 1, last_request = now()
  WHERE id = 'full';
UPDATE "api keys" SET remaining = 0 WHERE id = 'used';
UPDATE "api keys" SET expires_at = '2021-01-01' WHERE id = 'expired';
UPDATE "api keys" SET enabled = false WHERE id = 'disabled';
UPDATE "api keys" SET permissions = NULL WHERE id = 'denied';
INSERT INTO companies VALUES ('${id(1, 1)}', 'One', 'one'), ('${id(1, 2)}', 'Two', 'two');
${
  PEOPLE.map((name, at) =>
    `INSERT INTO "my auth".people (id, name, email, role, settings, credit, secret_note) VALUES
      ('${id(2, at)}', '${name}', '${name}@example.com', '${
      at % 2 ? "user" : "user,admin"
    }', '{"a":[1,null]}', 9007199254740993, 'x');
    INSERT INTO users (id, name, email) VALUES ('${id(2, at)}', '${name}', '${name}@example.com');
    INSERT INTO "my auth".visits (id, user_id, token, expires_at, active_organization_id, created_at, updated_at)
      VALUES ('${id(3, at)}', '${
      id(2, at)
    }', '${name}', date_trunc('day', now()) + interval '31 days', '${id(1, 1)}', now(), now());
    INSERT INTO employees VALUES ('${id(4, at)}', '${id(1, 1)}', '${id(2, at)}', '${
      at === 0 ? "member,owner" : "member"
    }');`
  ).join("\n")
}
DELETE FROM employees WHERE id = '${id(4, 2)}';
UPDATE "my auth".visits SET active_organization_id = NULL WHERE token = 'nobody';
UPDATE "my auth".visits SET active_organization_id = '${id(1, 2)}' WHERE token = 'other';
UPDATE "my auth".people SET banned = true WHERE name = 'banned';
UPDATE "my auth".visits SET created_at = now() - interval '3 days', expires_at = now() + interval '27 days' WHERE token = 'due';
UPDATE "my auth".visits SET created_at = now() - interval '2 hours' WHERE token = 'old';
UPDATE "my auth".visits SET expires_at = '2021-01-01' WHERE token = 'expired';
`;

/** What the functions changed, without the time of the test. */
export const CHANGED_ROWS = `SELECT
  (SELECT jsonb_agg(jsonb_build_array(id, remaining, request_count, last_request IS NULL, last_refill_at IS NULL,
    updated_at > '2021-01-01', touched_at IS NULL) ORDER BY id) FROM "api keys") AS keys,
  (SELECT jsonb_agg(jsonb_build_array(token, expires_at > now() + interval '28 days', updated_at > created_at) ORDER BY token)
    FROM "my auth".visits) AS sessions`;
