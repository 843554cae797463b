import { defineApiHandler, reply } from "@trellis/fn/validation";
import * as z from "zod";
import { Values } from "../../../schemas.ts";

export const handler = defineApiHandler({
  pathSchema: z.object({ valueId: z.coerce.number().int() }),
  schema: Values,
  responses: {
    200: { body: Values, headers: z.object({ "x-value": z.int() }) },
  },
})(function putValues({ path, body }) {
  return reply(200, body, { headers: { "x-value": path.valueId } });
});
