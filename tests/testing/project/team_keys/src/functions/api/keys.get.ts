import * as z from "zod";
import { defineApiHandler, reply } from "../../../../../../../validation/mod.ts";
import { apiKey, keyOptions } from "../../auth.ts";

export const handler = defineApiHandler({
  auth: apiKey({ plugin: keyOptions }),
  responses: { 200: z.object({ organizationId: z.string() }) },
})(function getOwner({ apiKey }) {
  return reply(200, { organizationId: apiKey.referenceId });
});
