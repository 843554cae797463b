import * as z from "zod";
import { defineApiHandler, reply } from "../../../../../../validation/mod.ts";

export const handler = defineApiHandler({
  auth: "authorizer",
  responses: { 200: z.object({ userId: z.string() }) },
})(({ userId }) => reply(200, { userId }));
