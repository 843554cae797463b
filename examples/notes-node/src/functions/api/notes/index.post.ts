import { buildValidatedResponse, defineApiHandler } from "@trellis/fn";
import * as z from "zod";
import "../../../auth.ts";
import { createNote } from "../../../database.ts";

export const handler = defineApiHandler({
  auth: "session",
  schema: z.strictObject({ title: z.string().trim().min(1).max(200) }),
  openapi: { summary: "Write a note", successStatus: 201 },
})(async function postNote({ context, body, userId }) {
  return buildValidatedResponse(context, 201, await createNote({ ...body, userId }));
});
