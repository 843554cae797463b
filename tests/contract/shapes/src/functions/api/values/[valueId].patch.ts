import { defineApiHandler, reply } from "@trellis/fn/validation";
import * as z from "zod";
import { Values } from "../../../schemas.ts";

/** The fields that are sent. */
export const Changes = Values.pick({ text: true, note: true, color: true }).partial();

export const handler = defineApiHandler({
  pathSchema: z.object({ valueId: z.coerce.number().int() }),
  schema: Changes,
  responses: { 200: Changes },
})(function patchValues({ body }) {
  return reply(200, body);
});
