import { index, pgTable, primaryKey, text, timestamp, uuid } from "drizzle-orm/pg-core";

export { authAccounts, authSessions, authUsers, authVerification } from "@trellis/fn/auth/schema";

/** Labels of notes. The migration inserts them. */
export const labels = pgTable("labels", {
  id: text("id").primaryKey(),
  title: text("title").notNull(),
});

/** Notes of users. `search` is the lower-case text for queries. */
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

/** Handled webhook deliveries, so that a repeated one is ignored. */
export const deliveries = pgTable("deliveries", {
  source: text("source").notNull(),
  deliveryId: text("delivery_id").notNull(),
  receivedAt: timestamp("received_at", { withTimezone: true }).notNull().defaultNow(),
}, (table) => [primaryKey({ columns: [table.source, table.deliveryId] })]);
