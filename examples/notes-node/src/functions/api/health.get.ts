import { buildValidatedResponse, defineApiHandler } from "@trellis/fn";

export const handler = defineApiHandler({ timeout: 5 })(function health({ context }) {
  return buildValidatedResponse(context, 200, { status: "ok" });
});
