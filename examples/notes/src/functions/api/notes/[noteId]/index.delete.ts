import { buildValidatedResponse } from "@trellis/fn/core";
import { NotFoundError } from "@trellis/fn/errors";
import { defineApiHandler } from "@trellis/fn/validation";
import "../../../../auth.ts";
import { NotePath } from "../../../../notes_schemas.ts";
import { deleteNote } from "../../../../queries/notes.ts";

export const handler = defineApiHandler({
  auth: "session",
  pathSchema: NotePath,
  openapi: { summary: "Delete one of your notes", tags: ["notes"], successStatus: 204 },
})(async function removeNote({ context, path, userId }) {
  if (!await deleteNote({ userId, noteId: path.noteId })) throw new NotFoundError("No such note");
  return buildValidatedResponse(context, 204);
});
