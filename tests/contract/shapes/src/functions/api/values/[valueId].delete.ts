import { defineApiHandler, reply } from "@trellis/fn/validation";
import * as z from "zod";

export const handler = defineApiHandler({
  pathSchema: z.object({ valueId: z.coerce.number().int() }),
  responses: { 204: z.undefined() },
})(function removeValues() {
  return reply(204);
});
