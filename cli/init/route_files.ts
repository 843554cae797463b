import { withoutMargins } from "./margin.ts";

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

/** The routes of notes that belong to a user. */
export const NOTE_ROUTE_FILES: Readonly<Record<string, string>> = withoutMargins({
  "src/functions/api/notes/index.get.ts":
    `|import { defineApiHandler, reply } from "@trellis/fn/validation";
|import { session } from "../../../auth.ts";
|import { NoteList, NoteQuery } from "../../../notes_schemas.ts";
|import { listNotes } from "../../../queries/notes.ts";
|
|export const handler = defineApiHandler({
|  auth: session(),
|  querySchema: NoteQuery,
|  responses: { 200: NoteList },
|  openapi: { summary: "List your notes, newest first", tags: ["notes"] },
|})(async ({ query, userId }) => reply(200, { notes: await listNotes({ ...query, userId }) }));
`,
  "src/functions/api/notes/index.post.ts":
    `|import { defineApiHandler, reply } from "@trellis/fn/validation";
|import { session } from "../../../auth.ts";
|import { Note, NoteInput } from "../../../notes_schemas.ts";
|import { createNote } from "../../../queries/notes.ts";
|
|export const handler = defineApiHandler({
|  auth: session(),
|  schema: NoteInput,
|  responses: { 201: Note },
|  openapi: { summary: "Create a note", tags: ["notes"] },
|})(async ({ body, userId }) => reply(201, await createNote({ ...body, userId })));
`,
});

/** The schemas of notes. */
export const NOTE_SCHEMA_FILES: Readonly<Record<string, string>> = withoutMargins({
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
});

/** The test of the template `notes`. */
export const NOTE_TEST_FILES: Readonly<Record<string, string>> = withoutMargins({
  "tests/notes.test.ts": `|import { withDatabase } from "./setup.ts";
|import { createLambdaContext, createRestApiEvent } from "@trellis/fn/testing";
|import assert from "node:assert/strict";
|import { test } from "node:test";
|
|test("a user signs up, creates a note and lists it", () =>
|  withDatabase(async () => {
|    const { handler: auth } = await import("../src/functions/api/auth/[...proxy].any.ts");
|    const { handler: postNote } = await import("../src/functions/api/notes/index.post.ts");
|    const { handler: getNotes } = await import("../src/functions/api/notes/index.get.ts");
|
|    const ada = { name: "Ada", email: "ada@example.com", password: "correct-horse" };
|    const signedUp = await auth(
|      createRestApiEvent({ method: "POST", path: "/auth/sign-up/email", body: ada }),
|      createLambdaContext(),
|    );
|    assert.equal(signedUp.statusCode, 200, signedUp.body);
|    const headers = { Authorization: "Bearer " + JSON.parse(signedUp.body).token };
|
|    const bad = await postNote(createRestApiEvent({ method: "POST", headers, body: {} }), createLambdaContext());
|    assert.equal(bad.statusCode, 400);
|    assert.deepEqual(Object.keys(JSON.parse(bad.body).errors), ["title"]);
|
|    const written = await postNote(
|      createRestApiEvent({ method: "POST", headers, body: { title: "Milk" } }),
|      createLambdaContext(),
|    );
|    assert.equal(written.statusCode, 201, written.body);
|
|    const found = await getNotes(createRestApiEvent({ headers }), createLambdaContext());
|    assert.deepEqual(JSON.parse(found.body).notes, [JSON.parse(written.body)]);
|    assert.equal((await getNotes(createRestApiEvent(), createLambdaContext())).statusCode, 401);
|  }));
`,
});
