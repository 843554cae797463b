import { validateGitHubWebhook } from "@trellis/fn/auth";
import { getHeader, readRawBody } from "@trellis/fn/core";
import { getRequiredEnv } from "@trellis/fn/env";
import { ValidationError } from "@trellis/fn/errors";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import { Accepted } from "../../../hook_schemas.ts";
import { acceptPush } from "../../../queries/deliveries.ts";

export const handler = defineApiHandler({
  responses: { 202: Accepted },
  openapi: {
    summary: "Events of the code host (X-Hub-Signature-256)",
    tags: ["hooks"],
  },
})(async function codeHostHook({ event }) {
  await validateGitHubWebhook(
    readRawBody(event),
    getHeader(event, "X-Hub-Signature-256"),
    getRequiredEnv("CODE_HOST_WEBHOOK_SECRET"),
  );
  const deliveryId = getHeader(event, "X-GitHub-Delivery");
  if (!deliveryId) throw new ValidationError("The header X-GitHub-Delivery is missing");
  const first = await acceptPush(deliveryId);
  return reply(202, { accepted: true, repeated: !first });
});
