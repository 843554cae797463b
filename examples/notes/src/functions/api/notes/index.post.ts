import { logInfo, metrics, MetricUnit } from "@trellis/fn/observability";
import { createTransactionStore } from "@trellis/fn/idempotency";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import { session } from "../../../auth.ts";
import { getDb } from "../../../database.ts";
import { Note, NoteInput } from "../../../notes_schemas.ts";
import { createNote } from "../../../queries/notes.ts";

export const handler = defineApiHandler({
  auth: session(),
  schema: NoteInput,
  responses: { 201: Note },
  maxBodyBytes: 256 * 1024,
  // a client that repeats the request with its Idempotency-Key gets the first response
  idempotency: { store: createTransactionStore(getDb), required: false },
  openapi: { summary: "Write a note", tags: ["notes"] },
})(async function postNote({ body, userId, tx }) {
  const note = await createNote.on(tx, { ...body, userId });
  metrics.addMetric("NotesCreated", MetricUnit.Count, 1);
  logInfo("note created", { noteId: note.id });
  return reply(201, note, {
    headers: { Location: `/notes/${note.id}` },
  });
});
