import { NotFoundError } from "@trellis/fn/errors";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import { session } from "../../../../auth.ts";
import { Note, NotePath } from "../../../../note_schemas.ts";
import { findNote } from "../../../../queries/notes.ts";

export const handler = defineApiHandler({
  auth: session(),
  pathSchema: NotePath,
  responses: { 200: Note },
})(async ({ path, userId }) => {
  const note = await findNote({ userId, id: path.id });
  if (note === undefined) throw new NotFoundError("There is no such note");
  return reply(200, note);
});
