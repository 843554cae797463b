import { defineApiHandler, reply } from "@trellis/fn/validation";
import { session } from "../../../auth.ts";
import { ListQuery, NoteList } from "../../../note_schemas.ts";
import { firstNotes, nextNotes } from "../../../queries/notes.ts";

export const handler = defineApiHandler({
  auth: session(),
  querySchema: ListQuery,
  responses: { 200: NoteList },
})(async ({ query: { limit, after }, userId }) => {
  const page = { userId, limit: limit + 1 };
  const rows = after === undefined
    ? await firstNotes(page)
    : await nextNotes({ ...page, createdAt: new Date(after.slice(0, 24)), id: after.slice(25) });
  const notes = rows.slice(0, limit);
  const last = notes.at(-1);
  const next = rows.length > limit && last ? `${last.createdAt.toISOString()}_${last.id}` : null;
  return reply(200, { notes, next });
});
