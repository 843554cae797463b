import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import * as z from "zod";

export const handler = defineApiHandler({
  responseSchema: z.object({ status: z.literal("ok") }),
  openapi: { summary: "Whether the service answers", tags: ["service"] },
  timeout: 5,
})(function health({ context }) {
  return buildValidatedResponse(context, 200, { status: "ok" });
});
