import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import * as z from "zod";
import { reindexNotes } from "../../../queries/notes.ts";

const Reindexed = z.object({ notes: z.int() });

export const handler = defineApiHandler({
  auth: "bearer",
  responseSchema: Reindexed,
  openapi: { summary: "Rebuild the search text of all notes", tags: ["admin"] },
  timeout: 28,
})(async function reindex({ context }) {
  return buildValidatedResponse(context, 200, { notes: await reindexNotes() }, Reindexed);
});
