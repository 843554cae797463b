import { withoutMargin, withoutMargins } from "./margin.ts";

const MIGRATION = `|CREATE TABLE "notes" (
|  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
+|  "user_id" uuid NOT NULL,
|  "title" text NOT NULL,
|  "body" text NOT NULL,
|  "created_at" timestamp with time zone DEFAULT now() NOT NULL
|);
|--> statement-breakpoint
-|CREATE INDEX "notes_created_at_idx" ON "notes" ("created_at");
+|CREATE INDEX "notes_user_id_created_at_idx" ON "notes" ("user_id","created_at");
`;

/**
 * The table, the queries and the routes of notes, with their test. Lines with the margin `+|` belong to projects in which
 * notes belong to a user, those with `-|` to the others.
 */
const NOTES: Readonly<Record<string, string>> = {
  "src/schema.ts": `|import { index, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
+|
+|export { authAccounts, authSessions, authUsers, authVerification } from "@trellis/fn/auth/schema";
|
|export const notes = pgTable("notes", {
|  id: uuid("id").primaryKey().defaultRandom(),
+|  userId: uuid("user_id").notNull(),
|  title: text("title").notNull(),
|  body: text("body").notNull(),
|  createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
-|}, (table) => [index("notes_created_at_idx").on(table.createdAt)]);
+|}, (table) => [index("notes_user_id_created_at_idx").on(table.userId, table.createdAt)]);
`,
  "src/notes_schemas.ts": `|import * as z from "zod";
|
|export const NoteInput = z.strictObject({
|  title: z.string().trim().min(1).max(200),
|  body: z.string().max(20_000).default(""),
|});
|
|export const NoteQuery = z.object({ limit: z.coerce.number().int().min(1).max(100).default(20) });
|
|export const Note = z.object({ id: z.uuid(), title: z.string(), body: z.string(), createdAt: z.date() });
|
|export const NoteList = z.object({ notes: z.array(Note) });
`,
  "src/queries/notes.ts": `|import type { Params } from "@trellis/fn/database";
-|import { desc } from "@trellis/fn/database/orm";
+|import { desc, eq } from "@trellis/fn/database/orm";
|import { defineStatement } from "../database.ts";
|import { notes } from "../schema.ts";
|
|// drizzle builds each statement once; its tables become the grants of the functions that call it
|export const listNotes = defineStatement(
|  "listNotes",
-|  (db, p: Params<{ limit: number }>) => db.select().from(notes).orderBy(desc(notes.createdAt)).limit(p.limit),
+|  (db, p: Params<{ userId: string; limit: number }>) =>
+|    db.select().from(notes).where(eq(notes.userId, p.userId)).orderBy(desc(notes.createdAt)).limit(p.limit),
|);
|
|export const createNote = defineStatement(
|  "createNote",
-|  (db, p: Params<{ title: string; body: string }>) =>
-|    db.insert(notes).values({ title: p.title, body: p.body }).returning(),
+|  (db, p: Params<{ userId: string; title: string; body: string }>) =>
+|    db.insert(notes).values({ userId: p.userId, title: p.title, body: p.body }).returning(),
|  { map: ([note]) => note },
|);
`,
  "src/functions/api/notes/index.get.ts":
    `|import { defineApiHandler, reply } from "@trellis/fn/validation";
+|import { session } from "../../../auth.ts";
|import { NoteList, NoteQuery } from "../../../notes_schemas.ts";
|import { listNotes } from "../../../queries/notes.ts";
|
|export const handler = defineApiHandler({
+|  auth: session(),
|  querySchema: NoteQuery,
|  responses: { 200: NoteList },
-|  openapi: { summary: "List notes, newest first", tags: ["notes"] },
-|})(async ({ query }) => reply(200, { notes: await listNotes(query) }));
+|  openapi: { summary: "List your notes, newest first", tags: ["notes"] },
+|})(async ({ query, userId }) => reply(200, { notes: await listNotes({ ...query, userId }) }));
`,
  "src/functions/api/notes/index.post.ts":
    `|import { defineApiHandler, reply } from "@trellis/fn/validation";
+|import { session } from "../../../auth.ts";
|import { Note, NoteInput } from "../../../notes_schemas.ts";
|import { createNote } from "../../../queries/notes.ts";
|
-|// anyone can call it: add an option auth before you deploy something of value
|export const handler = defineApiHandler({
+|  auth: session(),
|  schema: NoteInput,
|  responses: { 201: Note },
|  openapi: { summary: "Create a note", tags: ["notes"] },
-|})(async ({ body }) => reply(201, await createNote(body)));
+|})(async ({ body, userId }) => reply(201, await createNote({ ...body, userId })));
`,
  "tests/notes.test.ts": `|import { createTestClient } from "@trellis/fn/testing";
|import assert from "node:assert/strict";
|import { test } from "node:test";
|
-|test("a note is created and listed", async () => {
+|test("a user creates a note and lists it", async () => {
|  await using api = await createTestClient();
+|  const as = await api.createTestUser();
-|  const bad = await api.post("/notes", { body: {}, expect: 400 });
+|  const bad = await api.post("/notes", { as, body: {}, expect: 400 });
|  assert.deepEqual(Object.keys(bad.body.errors), ["title"]);
|
-|  const written = await api.post("/notes", { body: { title: "Milk" }, expect: 201 });
-|  const found = await api.get("/notes", { expect: 200 });
+|  const written = await api.post("/notes", { as, body: { title: "Milk" }, expect: 201 });
+|  const found = await api.get("/notes", { as, expect: 200 });
|  assert.deepEqual(found.body, { notes: [written.body] });
|});
|
-|test("a new database has no notes", async () => {
-|  await using api = await createTestClient();
-|  const found = await api.get("/notes", { expect: 200 });
-|  assert.deepEqual(found.body, { notes: [] });
-|});
+|test("notes are listed for users with a session only", async () => {
+|  await using api = await createTestClient();
+|  const session = await api.createTestUser();
+|  await api.get("/notes", { as: session, expect: 200 });
+|  await api.get("/notes", { expect: 401 });
+|  api.clock.advance(30 * 86_400_000);
+|  await api.get("/notes", { as: session, expect: 401 });
+|});
`,
};

/**
 * Returns the files of notes.
 *
 * @param haveUsers True if each note belongs to a user with an account.
 * @param migration Number of the migration that creates the table.
 * @returns Contents by path.
 */
export function renderNotes(haveUsers: boolean, migration: number): Record<string, string> {
  const other = haveUsers ? /^-\|.*\n/gm : /^\+\|.*\n/gm;
  const files = { ...NOTES, [`migrations/000${migration}_notes.sql`]: MIGRATION };
  return Object.fromEntries(
    Object.entries(files).map((
      [path, text],
    ) => [path, text.replace(other, "").replace(/^[+-]?\|/gm, "")]),
  );
}

/** The routes of accounts. */
export const AUTH_ROUTE_FILES: Readonly<Record<string, string>> = withoutMargins({
  "src/functions/api/auth/[...proxy].any.ts":
    `|import { createAuthHandler } from "@trellis/fn/auth";
|import { getAuth } from "../../../auth.ts";
|
|// all routes of better-auth: sign-up, sign-in, sign-out, get-session, callbacks of providers, plugins
|export const handler = createAuthHandler(getAuth);
`,
  "src/functions/schedule/auth_cleanup.ts":
    `|import { createAuthCleanupHandler } from "@trellis/fn/auth";
|import { getAuth } from "../../auth.ts";
|
|// removes expired sessions, verifications and rate limits, once a day
|export const handler = createAuthCleanupHandler(getAuth);
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
