import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import "../../../auth.ts";
import { NoteList, NoteQuery } from "../../../notes_schemas.ts";
import { listNotes } from "../../../queries/notes.ts";

export const handler = defineApiHandler({
  auth: "session",
  querySchema: NoteQuery,
  responseSchema: NoteList,
  openapi: { summary: "Your notes, newest first", tags: ["notes"] },
})(async function getNotes({ context, query, userId }) {
  return buildValidatedResponse(context, 200, { notes: await listNotes(userId, query) }, NoteList);
});
