import type { WebhookPayload, WebhookSecret } from "./webhook_input.ts";
import { validateWebhookSignature } from "./webhooks.ts";

/**
 * Checks a webhook of Shopify: HMAC-SHA256 over the raw body, in base64.
 * Source: Shopify's documentation, "Verify the origin of the webhook".
 *
 * @param payload The raw request body.
 * @param signatureHeader Value of `X-Shopify-Hmac-Sha256`.
 * @param secret The app's client secret, or several during a rotation.
 * @returns A promise that resolves if the signature is valid.
 * @throws {UnauthorizedError} If the signature is missing, malformed or invalid.
 * @throws {ConfigurationError} If the secret is empty.
 *
 * @example
 * ```ts
 * import { validateShopifyWebhook } from "@trellis/fn/auth";
 * import { createHmac } from "node:crypto";
 *
 * const body = '{"id":820982911946154508}';
 * const header = createHmac("sha256", "the app's client secret").update(body).digest("base64");
 * await validateShopifyWebhook(body, header, "the app's client secret");
 * ```
 */
export function validateShopifyWebhook(
  payload: WebhookPayload,
  signatureHeader: string | null | undefined,
  secret: WebhookSecret,
): Promise<void> {
  return validateWebhookSignature({
    payload,
    signature: signatureHeader,
    secret,
    encoding: "base64",
    headerName: "X-Shopify-Hmac-Sha256",
  });
}
