import { validateStripeWebhook } from "@trellis/fn/auth";
import { getHeader, readRawBody } from "@trellis/fn/core";
import { getRequiredEnv } from "@trellis/fn/env";
import { ValidationError } from "@trellis/fn/errors";
import { defineApiHandler, reply, validateSchema } from "@trellis/fn/validation";
import * as z from "zod";
import { Accepted } from "../../../hook_schemas.ts";
import { recordDelivery } from "../../../queries/deliveries.ts";

const PaymentEvent = z.object({ id: z.string().min(1), type: z.string().min(1) });

export const handler = defineApiHandler({
  responses: { 202: Accepted },
  openapi: {
    summary: "Events of the payments provider (Stripe-Signature)",
    tags: ["hooks"],
  },
})(async function paymentsHook({ event }) {
  const payload = readRawBody(event);
  await validateStripeWebhook(
    payload,
    getHeader(event, "Stripe-Signature"),
    getRequiredEnv("PAYMENTS_WEBHOOK_SECRET"),
  );
  // the signature covers the received bytes, so the body is parsed after the check
  const parsed = validateSchema(PaymentEvent, parseJson(new TextDecoder().decode(payload)));
  if (!parsed.success) {
    throw new ValidationError("The event is not valid", { errors: parsed.errors });
  }
  const first = await recordDelivery({ source: "payments", deliveryId: parsed.data.id });
  return reply(202, { accepted: true, repeated: !first });
});

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ValidationError("The event is not valid", {
      errors: { _form: ["The request body is not valid JSON"] },
    });
  }
}
