import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import "../../../auth.ts";
import { ListQuery } from "../../../note_schemas.ts";
import { firstNotes, nextNotes } from "../../../queries/notes.ts";

export const handler = defineApiHandler({ auth: "session", querySchema: ListQuery })(
  async function listNotes({ context, query: { limit, after }, userId }) {
    const rows = after === undefined
      ? await firstNotes(userId, limit + 1)
      : await nextNotes(userId, limit + 1, new Date(after.slice(0, 24)), after.slice(25));
    const notes = rows.slice(0, limit);
    const last = notes.at(-1);
    const next = rows.length > limit && last ? `${last.createdAt.toISOString()}_${last.id}` : null;
    return buildValidatedResponse(context, 200, { notes, next });
  },
);
