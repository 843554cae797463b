import { getOptionalEnv, getRequiredEnv } from "../../../../../../env/mod.ts";
import { defineApiHandler, reply } from "../../../../../../validation/mod.ts";
import * as z from "zod";

const atStart = getRequiredEnv("HOOK_SIGNING_KEY");

export const handler = defineApiHandler({
  responses: { 200: z.record(z.string(), z.string()) },
})(function getValues() {
  const names = [
    "PAYMENTS_CREDENTIAL",
    "EXISTING_SECRET",
    "MAIL_API_TOKEN",
    "OWN",
    "REGION_NAME",
    "GREETING",
    "PHOTOS",
    "LOG_LEVEL",
  ];
  const values = names.map((name) => [name, getOptionalEnv(name, "unset")]);
  return reply(200, { HOOK_SIGNING_KEY: atStart, ...Object.fromEntries(values) });
});
