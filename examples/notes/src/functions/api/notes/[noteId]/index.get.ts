import { buildValidatedResponse } from "@trellis/fn/core";
import { NotFoundError } from "@trellis/fn/errors";
import { defineApiHandler } from "@trellis/fn/validation";
import "../../../../auth.ts";
import { Note, NotePath } from "../../../../notes_schemas.ts";
import { findNote } from "../../../../queries/notes.ts";

export const handler = defineApiHandler({
  auth: "session",
  pathSchema: NotePath,
  responseSchema: Note,
  openapi: { summary: "One of your notes", tags: ["notes"] },
})(async function getNote({ context, path, userId }) {
  const note = await findNote({ userId, noteId: path.noteId });
  if (note === undefined) throw new NotFoundError("No such note");
  return buildValidatedResponse(context, 200, note, Note);
});
