import * as z from "zod";
import { defineApiHandler, reply } from "../../../../../../validation/mod.ts";
import { apiKey } from "../../auth.ts";

export const handler = defineApiHandler({
  auth: apiKey({ permissions: { notes: ["read"] } }),
  responses: { 200: z.object({ userId: z.string().optional() }) },
})(({ userId }) => reply(200, { userId }));
