import { boolean, integer, pgTable, text, timestamp } from "drizzle-orm/pg-core";
import { openAuthDatabase } from "./auth_database.ts";

const instant = (name: string) => timestamp(name, { withTimezone: true });

/** Returns the columns of better-auth's API keys. */
export const apiKeyColumns = () => ({
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
  rateLimitTimeWindow: integer("rate_limit_time_window"),
  rateLimitMax: integer("rate_limit_max"),
  requestCount: integer("request_count"),
  remaining: integer("remaining"),
  lastRequest: instant("last_request"),
  expiresAt: instant("expires_at"),
  createdAt: instant("created_at").notNull(),
  updatedAt: instant("updated_at").notNull(),
  permissions: text("permissions"),
  metadata: text("metadata"),
});

/** The table of better-auth's API keys. */
export const apikey = pgTable("api_keys", apiKeyColumns());

/** Creates the table. */
export const API_KEY_TABLE = `CREATE TABLE api_keys (id text PRIMARY KEY, config_id text NOT NULL,
  name text, start text, reference_id text NOT NULL, prefix text, key text NOT NULL, refill_interval integer,
  refill_amount integer, last_refill_at timestamptz, enabled boolean, rate_limit_enabled boolean,
  rate_limit_time_window integer, rate_limit_max integer, request_count integer, remaining integer,
  last_request timestamptz, expires_at timestamptz, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL,
  permissions text, metadata text); CREATE INDEX api_keys_key_idx ON api_keys (key)`;

/** Id of the owner of keys. */
export const OWNER = "7d3f0a52-0c0b-4b6e-8f3a-1e2d3c4b5a69";

/** Opens an embedded database with this table, and the owner. */
export async function openApiKeysDatabase(): ReturnType<typeof openAuthDatabase> {
  const opened = await openAuthDatabase();
  await opened.pglite.exec(API_KEY_TABLE);
  await opened.pglite.query(
    "INSERT INTO users (id, name, email) VALUES ($1, 'Ada', 'ada@example.com')",
    [OWNER],
  );
  return opened;
}
