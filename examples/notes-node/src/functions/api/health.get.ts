import { defineApiHandler, reply } from "@trellis/fn";
import * as z from "zod";

export const handler = defineApiHandler({
  responses: { 200: z.object({ status: z.literal("ok") }) },
  timeout: 5,
})(function health() {
  return reply(200, { status: "ok" });
});
