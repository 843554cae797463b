import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import "../../../auth.ts";
import { NoteInput } from "../../../note_schemas.ts";
import { createNote } from "../../../queries/notes.ts";

export const handler = defineApiHandler({ auth: "session", schema: NoteInput })(
  async function postNote({ context, body, userId }) {
    const dueAt = body.dueAt === null ? null : new Date(body.dueAt);
    return buildValidatedResponse(context, 201, await createNote({ ...body, dueAt, userId }));
  },
);
