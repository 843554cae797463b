import { index, pgTable, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";

export { authAccounts, authSessions, authUsers, authVerification } from "@trellis/fn/auth/schema";

/** What a note can be filed under. The migration fills it. */
export const labels = pgTable("labels", {
  id: text("id").primaryKey(),
  title: text("title").notNull(),
});

/** A user's notes. `search` is the lower-case text that queries look into. */
export const notes = pgTable("notes", {
  id: uuid("id").primaryKey().defaultRandom(),
  userId: uuid("user_id").notNull(),
  labelId: text("label_id"),
  title: text("title").notNull(),
  body: text("body").notNull(),
  search: text("search").notNull(),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
  updatedAt: timestamp("updated_at", { withTimezone: true }).notNull().defaultNow(),
}, (table) => [index("notes_user_id_created_at_idx").on(table.userId, table.createdAt)]);

/** Webhook deliveries that were handled, so that one that is sent twice is handled once. */
export const deliveries = pgTable("deliveries", {
  source: text("source").notNull(),
  deliveryId: text("delivery_id").notNull(),
  receivedAt: timestamp("received_at", { withTimezone: true }).notNull().defaultNow(),
}, (table) => [primaryKey({ columns: [table.source, table.deliveryId] })]);
