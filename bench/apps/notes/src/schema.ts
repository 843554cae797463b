import {
  bigint,
  boolean,
  integer,
  jsonb,
  pgTable,
  text,
  timestamp,
  uuid,
} from "drizzle-orm/pg-core";

export { authAccounts, authSessions, authUsers, authVerification } from "@trellis/fn/auth/schema";

const instant = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });

export const labels = pgTable("labels", {
  id: uuid("id").primaryKey().defaultRandom(),
  userId: text("user_id").notNull(),
  name: text("name").notNull(),
});

export const notes = pgTable("notes", {
  id: uuid("id").primaryKey().defaultRandom(),
  userId: text("user_id").notNull(),
  labelId: uuid("label_id").notNull().references(() => labels.id),
  title: text("title").notNull(),
  body: text("body").notNull(),
  color: text("color").notNull(),
  priority: integer("priority").notNull(),
  pinned: boolean("pinned").notNull(),
  tags: text("tags").array().notNull(),
  dueAt: instant("due_at"),
  createdAt: instant("created_at").notNull().defaultNow(),
  updatedAt: instant("updated_at").notNull().defaultNow(),
});

export const noteActivity = pgTable("note_activity", {
  id: bigint("id", { mode: "number" }).primaryKey().generatedAlwaysAsIdentity(),
  noteId: uuid("note_id").notNull().references(() => notes.id),
  userId: text("user_id").notNull(),
  action: text("action").notNull(),
  at: timestamp("at", { withTimezone: true }).notNull().defaultNow(),
});

export const webhookEvents = pgTable("webhook_events", {
  id: text("id").primaryKey(),
  type: text("type").notNull(),
  payload: jsonb("payload").notNull(),
  receivedAt: timestamp("received_at", { withTimezone: true }).notNull().defaultNow(),
});
