import type { BuildColumns, HasDefault, IsPrimaryKey, NotNull } from "drizzle-orm";
import type {
  PgBigInt53BuilderInitial,
  PgTableWithColumns,
  PgTextBuilderInitial,
  PgUUIDBuilderInitial,
} from "drizzle-orm/pg-core";
import { bigint, pgTable, text, uuid } from "drizzle-orm/pg-core";

/** The columns of {@link RATE_LIMIT_COLUMNS}. */
export type RateLimitColumns = {
  /** Primary key, a UUID. */
  id: IsPrimaryKey<NotNull<HasDefault<PgUUIDBuilderInitial<"id">>>>;
  /** What requests are counted by, unique. */
  key: NotNull<PgTextBuilderInitial<"key", [string, ...string[]]>>;
  /** Number of requests in the window. */
  count: NotNull<PgBigInt53BuilderInitial<"count">>;
  /** Start of the window in milliseconds since 1970. */
  lastRequest: NotNull<PgBigInt53BuilderInitial<"last_request">>;
};

/**
 * Columns of the table that counts requests, with the names of better-auth's model `rateLimit`.
 * Spread them into your own table to give it another name.
 */
export const RATE_LIMIT_COLUMNS: RateLimitColumns = {
  // getters, because a builder keeps the name of its first table
  get id() {
    return uuid("id").defaultRandom().primaryKey();
  },
  get key() {
    return text("key").notNull().unique();
  },
  get count() {
    return bigint("count", { mode: "number" }).notNull();
  },
  get lastRequest() {
    return bigint("last_request", { mode: "number" }).notNull();
  },
};

/** The type of {@link rateLimits}. */
export type RateLimitTable = PgTableWithColumns<{
  name: "rate_limits";
  schema: undefined;
  columns: BuildColumns<"rate_limits", RateLimitColumns, "pg">;
  dialect: "pg";
}>;

/** The table `rate_limits`: one row per key. Rows older than a day can be deleted. */
export const rateLimits: RateLimitTable = pgTable("rate_limits", RATE_LIMIT_COLUMNS);
