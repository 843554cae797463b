import { index, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";

export { authAccounts, authSessions, authUsers, authVerification } from "@trellis/fn/auth/schema";

export const notes = pgTable("notes", {
  id: uuid("id").primaryKey().defaultRandom(),
  userId: uuid("user_id").notNull(),
  title: text("title").notNull(),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
}, (table) => [index("notes_user_id_created_at_idx").on(table.userId, table.createdAt)]);
