import * as z from "zod";
import { defineApiHandler, reply } from "../../../../../../validation/mod.ts";
import { session } from "../../auth.ts";
import { getDb } from "../../database.ts";
import { remind } from "../../jobs.ts";

export const handler = defineApiHandler({
  auth: session(),
  schema: z.object({ text: z.string(), inSeconds: z.number() }),
  responses: { 202: z.object({ id: z.string() }) },
})(async ({ body: { text, inSeconds }, session }) => {
  const payload = { text, to: session.user.email };
  const options = { delaySeconds: inSeconds };
  return reply(202, { id: await remind.enqueue(await getDb(), payload, options) });
});
