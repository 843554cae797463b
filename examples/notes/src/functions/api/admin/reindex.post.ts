import { defineApiHandler, reply } from "@trellis/fn/validation";
import * as z from "zod";
import { reindexNotes } from "../../../queries/notes.ts";

const Reindexed = z.object({ notes: z.int() });

export const handler = defineApiHandler({
  auth: "bearer",
  responses: { 200: Reindexed },
  openapi: { summary: "Rebuild the search text of all notes", tags: ["admin"] },
  timeout: 28,
})(async function reindex() {
  return reply(200, { notes: await reindexNotes() });
});
