import { buildValidatedResponse, defineApiHandler } from "@trellis/fn";
import * as z from "zod";
import "../../../auth.ts";
import { listNotes } from "../../../database.ts";

export const handler = defineApiHandler({
  auth: "session",
  querySchema: z.object({ limit: z.coerce.number().int().min(1).max(100).default(20) }),
  openapi: { summary: "Your notes, newest first" },
})(async function getNotes({ context, query, userId }) {
  return buildValidatedResponse(context, 200, { notes: await listNotes(userId, query.limit) });
});
