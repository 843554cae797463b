import { defineApiHandler, reply } from "@trellis/fn/validation";
import { session } from "../../../auth.ts";
import { NoteList, NoteQuery } from "../../../notes_schemas.ts";
import { listNotes } from "../../../queries/notes.ts";

export const handler = defineApiHandler({
  auth: session(),
  querySchema: NoteQuery,
  responses: { 200: NoteList },
  openapi: { summary: "Your notes, newest first", tags: ["notes"] },
})(async function getNotes({ query, userId }) {
  return reply(200, { notes: await listNotes(userId, query) });
});
