import { NotFoundError } from "@trellis/fn/errors";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import { session } from "../../../../auth.ts";
import { NotePath } from "../../../../notes_schemas.ts";
import { deleteNote } from "../../../../queries/notes.ts";

export const handler = defineApiHandler({
  auth: session(),
  pathSchema: NotePath,
  openapi: { summary: "Delete one of your notes", tags: ["notes"] },
})(async function removeNote({ path, userId }) {
  if (!await deleteNote({ userId, noteId: path.noteId })) throw new NotFoundError("No such note");
  return reply(204);
});
