import { defineApiHandler, reply } from "@trellis/fn/validation";
import { session } from "../../../auth.ts";
import { Note, NoteInput } from "../../../note_schemas.ts";
import { createNote } from "../../../queries/notes.ts";

export const handler = defineApiHandler({
  auth: session(),
  schema: NoteInput,
  responses: { 201: Note },
})(async ({ body, userId }) => {
  const dueAt = body.dueAt === null ? null : new Date(body.dueAt);
  return reply(201, await createNote({ ...body, dueAt, userId }));
});
