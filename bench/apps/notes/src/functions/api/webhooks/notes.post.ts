import { validateGitHubWebhook } from "@trellis/fn/auth";
import { buildValidatedResponse, getHeader, readRawBody } from "@trellis/fn/core";
import { getRequiredEnv } from "@trellis/fn/env";
import { defineApiHandler } from "@trellis/fn/validation";
import { WebhookEvent } from "../../../note_schemas.ts";
import { recordEvent } from "../../../queries/webhook_events.ts";

export const handler = defineApiHandler({})(async function receiveEvent({ context, event }) {
  const raw = readRawBody(event);
  const signature = getHeader(event, "X-Hub-Signature-256");
  await validateGitHubWebhook(raw, signature, getRequiredEnv("WEBHOOK_SECRET"));
  const payload = WebhookEvent.parse(JSON.parse(new TextDecoder().decode(raw)));
  const isNew = await recordEvent({ id: payload.id, type: payload.type, payload });
  return buildValidatedResponse(context, 200, { received: true, duplicate: !isNew });
});
