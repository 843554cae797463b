import { defineApiHandler, reply } from "@trellis/fn/validation";
import * as z from "zod";
import { session } from "../../auth.ts";

const Me = z.object({ id: z.string(), email: z.string(), name: z.string().optional() });

export const handler = defineApiHandler({
  auth: session(),
  responses: { 200: Me },
  openapi: { summary: "Return the signed-in user", tags: ["users"] },
})(function getMe({ session }) {
  const { id, email, name } = session.user;
  return reply(200, { id, email, name });
});
