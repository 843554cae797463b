import { withoutMargin, withoutMargins } from "./margin.ts";

/** The table and the queries of notes that belong to a user. */
export const NOTE_FILES: Readonly<Record<string, string>> = withoutMargins({
  "src/schema.ts": `|import { index, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
|
|export { authAccounts, authSessions, authUsers, authVerification } from "@trellis/fn/auth/schema";
|
|export const notes = pgTable("notes", {
|  id: uuid("id").primaryKey().defaultRandom(),
|  userId: uuid("user_id").notNull(),
|  title: text("title").notNull(),
|  body: text("body").notNull(),
|  createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
|}, (table) => [index("notes_user_id_created_at_idx").on(table.userId, table.createdAt)]);
`,
  "migrations/0002_notes.sql": `|CREATE TABLE "notes" (
|  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
|  "user_id" uuid NOT NULL,
|  "title" text NOT NULL,
|  "body" text NOT NULL,
|  "created_at" timestamp with time zone DEFAULT now() NOT NULL
|);
|--> statement-breakpoint
|CREATE INDEX "notes_user_id_created_at_idx" ON "notes" ("user_id","created_at");
`,
  "src/queries/notes.ts": `|import type { Params } from "@trellis/fn/database";
|import { desc, eq } from "@trellis/fn/database/orm";
|import { defineStatement } from "../database.ts";
|import { notes } from "../schema.ts";
|
|// drizzle builds each statement once; its tables become the grants of the functions that call it
|export const listNotes = defineStatement(
|  "listNotes",
|  (db, p: Params<{ userId: string; limit: number }>) =>
|    db.select().from(notes).where(eq(notes.userId, p.userId)).orderBy(desc(notes.createdAt)).limit(p.limit),
|);
|
|export const createNote = defineStatement(
|  "createNote",
|  (db, p: Params<{ userId: string; title: string; body: string }>) =>
|    db.insert(notes).values({ userId: p.userId, title: p.title, body: p.body }).returning(),
|  { map: ([note]) => note },
|);
`,
});

/**
 * Renders `src/auth.ts`: accounts with email and password.
 *
 * @param options Lines with more options of the configuration.
 */
export function renderAuthConfig(options: readonly string[] = []): string {
  return withoutMargin(
    `|import { defineAuth } from "@trellis/fn/auth";
|import { getOptionalEnv, getRequiredEnv, loadSources } from "@trellis/fn/env";
|import { getDb } from "./database.ts";
|
|// deployed: reads AUTH_SECRET from AWS Secrets Manager; locally .env or a generated value is used
|await loadSources();
|
|const baseURL = getOptionalEnv("AUTH_BASE_URL", "http://localhost:8787/auth");
|
|export const { session, getAuth } = defineAuth(getDb, {
|  secret: getRequiredEnv("AUTH_SECRET"),
|  baseURL,
|  // localhost has no https
|  useSecureCookies: baseURL.startsWith("https://"),
${options.map((line) => `|  ${line}\n`).join("")}|});
`,
  );
}
