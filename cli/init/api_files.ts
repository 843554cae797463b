import { withoutMargins } from "./margin.ts";

/** The template `api`: notes without accounts. */
export const API_FILES: Readonly<Record<string, string>> = withoutMargins({
  "src/schema.ts": `|import { index, pgTable, text, timestamp, uuid } from "drizzle-orm/pg-core";
|
|export const notes = pgTable("notes", {
|  id: uuid("id").primaryKey().defaultRandom(),
|  title: text("title").notNull(),
|  body: text("body").notNull(),
|  createdAt: timestamp("created_at", { withTimezone: true }).notNull().defaultNow(),
|}, (table) => [index("notes_created_at_idx").on(table.createdAt)]);
`,
  "migrations/0001_notes.sql": `|CREATE TABLE "notes" (
|  "id" uuid PRIMARY KEY DEFAULT gen_random_uuid() NOT NULL,
|  "title" text NOT NULL,
|  "body" text NOT NULL,
|  "created_at" timestamp with time zone DEFAULT now() NOT NULL
|);
|--> statement-breakpoint
|CREATE INDEX "notes_created_at_idx" ON "notes" ("created_at");
`,
  "src/queries/notes.ts": `|import type { Params } from "@trellis/fn/database";
|import { desc } from "@trellis/fn/database/orm";
|import { defineStatement } from "../database.ts";
|import { notes } from "../schema.ts";
|
|// drizzle builds each statement once; its tables become the grants of the functions that call it
|export const listNotes = defineStatement(
|  "listNotes",
|  (db, p: Params<{ limit: number }>) => db.select().from(notes).orderBy(desc(notes.createdAt)).limit(p.limit),
|);
|
|export const createNote = defineStatement(
|  "createNote",
|  (db, p: Params<{ title: string; body: string }>) =>
|    db.insert(notes).values({ title: p.title, body: p.body }).returning(),
|  { map: ([note]) => note },
|);
`,
  "src/functions/api/notes/index.get.ts":
    `|import { defineApiHandler, reply } from "@trellis/fn/validation";
|import { NoteList, NoteQuery } from "../../../notes_schemas.ts";
|import { listNotes } from "../../../queries/notes.ts";
|
|export const handler = defineApiHandler({
|  querySchema: NoteQuery,
|  responses: { 200: NoteList },
|  openapi: { summary: "List notes, newest first", tags: ["notes"] },
|})(async ({ query }) => reply(200, { notes: await listNotes(query) }));
`,
  "src/functions/api/notes/index.post.ts":
    `|import { defineApiHandler, reply } from "@trellis/fn/validation";
|import { Note, NoteInput } from "../../../notes_schemas.ts";
|import { createNote } from "../../../queries/notes.ts";
|
|// anyone can call it: add an option auth before you deploy something of value
|export const handler = defineApiHandler({
|  schema: NoteInput,
|  responses: { 201: Note },
|  openapi: { summary: "Create a note", tags: ["notes"] },
|})(async ({ body }) => reply(201, await createNote(body)));
`,
  "tests/notes.test.ts": `|import { withDatabase } from "./setup.ts";
|import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
|import assert from "node:assert/strict";
|import { test } from "node:test";
|
|test("a note is created and listed", () =>
|  withDatabase(async () => {
|    const { handler: postNote } = await import("../src/functions/api/notes/index.post.ts");
|    const { handler: getNotes } = await import("../src/functions/api/notes/index.get.ts");
|
|    const bad = await postNote(createRestApiEvent({ method: "POST", body: {} }), createLambdaContext());
|    assert.equal(bad.statusCode, 400);
|    assert.deepEqual(Object.keys(JSON.parse(bad.body).errors), ["title"]);
|
|    const written = await postNote(
|      createRestApiEvent({ method: "POST", body: { title: "Milk" } }),
|      createLambdaContext(),
|    );
|    assert.equal(written.statusCode, 201, written.body);
|
|    const found = await getNotes(createRestApiEvent(), createLambdaContext());
|    assert.deepEqual(JSON.parse(found.body).notes, [JSON.parse(written.body)]);
|  }));
`,
});
