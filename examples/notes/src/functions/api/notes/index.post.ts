import { buildValidatedResponse } from "@trellis/fn/core";
import { logInfo, metrics, MetricUnit } from "@trellis/fn/observability";
import { defineApiHandler } from "@trellis/fn/validation";
import "../../../auth.ts";
import { Note, NoteInput } from "../../../notes_schemas.ts";
import { createNote } from "../../../queries/notes.ts";

export const handler = defineApiHandler({
  auth: "session",
  schema: NoteInput,
  responseSchema: Note,
  maxBodyBytes: 256 * 1024,
  openapi: { summary: "Write a note", tags: ["notes"], successStatus: 201 },
})(async function postNote({ context, body, userId }) {
  const note = await createNote({ ...body, userId });
  metrics.addMetric("NotesCreated", MetricUnit.Count, 1);
  logInfo("note created", { noteId: note.id });
  return buildValidatedResponse(context, 201, note, Note, {
    headers: { Location: `/notes/${note.id}` },
  });
});
