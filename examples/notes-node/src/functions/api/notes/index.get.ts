import { defineApiHandler, reply } from "@trellis/fn";
import * as z from "zod";
import { session } from "../../../auth.ts";
import { listNotes } from "../../../database.ts";
import { Note } from "../../../schemas.ts";

export const handler = defineApiHandler({
  auth: session(),
  querySchema: z.object({ limit: z.coerce.number().int().min(1).max(100).default(20) }),
  responses: { 200: z.object({ notes: z.array(Note) }) },
  openapi: { summary: "Your notes, newest first" },
})(async function getNotes({ query, userId }) {
  return reply(200, { notes: await listNotes({ ...query, userId }) });
});
