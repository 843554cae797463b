import { NotFoundError } from "@trellis/fn/errors";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import { session } from "../../../../auth.ts";
import { Note, NotePath } from "../../../../notes_schemas.ts";
import { findNote } from "../../../../queries/notes.ts";

export const handler = defineApiHandler({
  auth: session(),
  pathSchema: NotePath,
  responses: { 200: Note },
  openapi: { summary: "One of your notes", tags: ["notes"] },
})(async function getNote({ path, userId }) {
  const note = await findNote({ userId, noteId: path.noteId });
  if (note === undefined) throw new NotFoundError("No such note");
  return reply(200, note);
});
