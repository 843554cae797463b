import { buildValidatedResponse } from "@trellis/fn/core";
import { defineApiHandler } from "@trellis/fn/validation";
import * as z from "zod";
import "../../auth.ts";

const Me = z.object({ id: z.string(), email: z.string(), name: z.string().optional() });

export const handler = defineApiHandler({
  auth: "session",
  responseSchema: Me,
  openapi: { summary: "Return the signed-in user", tags: ["users"] },
})(function getMe({ context, session }) {
  const { id, email, name } = session.user;
  return buildValidatedResponse(context, 200, { id, email, name }, Me);
});
