import { defineApiHandler, reply } from "@trellis/fn";
import * as z from "zod";
import { session } from "../../../auth.ts";
import { createNote } from "../../../database.ts";
import { Note } from "../../../schemas.ts";

export const handler = defineApiHandler({
  auth: session(),
  schema: z.strictObject({ title: z.string().trim().min(1).max(200) }),
  responses: { 201: Note },
  openapi: { summary: "Write a note" },
})(async function postNote({ body, userId }) {
  return reply(201, await createNote({ ...body, userId }));
});
