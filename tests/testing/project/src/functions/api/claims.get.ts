import * as z from "zod";
import { defineApiHandler, reply } from "../../../../../../validation/mod.ts";
import { jwt } from "../../auth.ts";

export const handler = defineApiHandler({
  auth: jwt({ issuer: "https://login.example.com/", audience: "api" }),
  responses: { 200: z.object({ userId: z.string() }) },
})(({ userId }) => reply(200, { userId }));
