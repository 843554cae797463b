import { validateGitHubWebhook } from "@trellis/fn/auth";
import { getHeader, readRawBody } from "@trellis/fn/core";
import { getRequiredEnv } from "@trellis/fn/env";
import { defineApiHandler, reply } from "@trellis/fn/validation";
import { Received, WebhookEvent } from "../../../note_schemas.ts";
import { recordEvent } from "../../../queries/webhook_events.ts";

export const handler = defineApiHandler({ responses: { 200: Received } })(async ({ event }) => {
  const raw = readRawBody(event);
  const signature = getHeader(event, "X-Hub-Signature-256");
  await validateGitHubWebhook(raw, signature, getRequiredEnv("WEBHOOK_SECRET"));
  const payload = WebhookEvent.parse(JSON.parse(new TextDecoder().decode(raw)));
  const isNew = await recordEvent({ id: payload.id, type: payload.type, payload });
  return reply(200, { received: true, duplicate: !isNew });
});
