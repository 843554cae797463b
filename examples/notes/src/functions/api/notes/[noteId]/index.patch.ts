import { NotFoundError } from "@trellis/fn/errors";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import { session } from "../../../../auth.ts";
import { Note, NoteChange, NotePath } from "../../../../notes_schemas.ts";
import { changeNote } from "../../../../queries/notes.ts";

export const handler = defineApiHandler({
  auth: session(),
  pathSchema: NotePath,
  schema: NoteChange,
  responses: { 200: Note },
  maxBodyBytes: 256 * 1024,
  openapi: { summary: "Change one of your notes", tags: ["notes"] },
})(async function patchNote({ path, body, userId }) {
  const note = await changeNote(userId, path.noteId, body);
  if (note === undefined) throw new NotFoundError("No such note");
  return reply(200, note);
});
