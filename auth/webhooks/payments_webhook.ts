import { HMAC_BYTES, verifyHmac } from "../../core/http/hmac.ts";
import {
  checkTimestamp,
  checkTolerance,
  decodeHex,
  malformedHeader,
  readHeader,
  readPayload,
  readSecrets,
  UNIX_SECONDS,
  type WebhookPayload,
  type WebhookSecret,
  wrongSignature,
} from "./webhook_input.ts";

/**
 * Checks a webhook of Stripe: the header `Stripe-Signature` with `t=<seconds>,v1=<hex>`, HMAC-SHA256 over `<seconds>.<raw
 * body>`. At least one `v1` value must match. Other keys are ignored.
 * Source: Stripe's documentation, "Verify webhook signatures manually".
 *
 * @param payload The raw request body.
 * @param signatureHeader Value of `Stripe-Signature`.
 * @param secret The endpoint's secret, or several during a rotation.
 * @param toleranceSeconds Maximum difference of the timestamp from the current time. Default: 300.
 * @returns A promise that resolves if signature and timestamp are valid.
 * @throws {UnauthorizedError} If the signature is missing, malformed, invalid, too old or from
 * the future.
 * @throws {ConfigurationError} If the secret is empty or the tolerance is not a number from 0.
 *
 * @example
 * ```ts
 * import { validateStripeWebhook } from "@trellis/fn/auth";
 * import { createHmac } from "node:crypto";
 *
 * const body = '{"id":"evt_1"}';
 * const seconds = Math.floor(Date.now() / 1000);
 * const hex = createHmac("sha256", "whsec_test").update(`${seconds}.${body}`).digest("hex");
 * await validateStripeWebhook(body, `t=${seconds},v1=${hex}`, "whsec_test");
 * ```
 */
export function validateStripeWebhook(
  payload: WebhookPayload,
  signatureHeader: string | null | undefined,
  secret: WebhookSecret,
  toleranceSeconds = 300,
): Promise<void> {
  return validateScheme("Stripe-Signature", payload, signatureHeader, secret, toleranceSeconds);
}

/**
 * Checks a webhook as {@link validateStripeWebhook} does, for other senders of the same scheme in the header
 * `Payments-Signature`, which error messages name.
 *
 * @param payload The raw request body.
 * @param signatureHeader Value of `Payments-Signature`.
 * @param secret The endpoint's secret, or several during a rotation.
 * @param toleranceSeconds Maximum difference of the timestamp from the current time. Default: 300.
 * @returns A promise that resolves if signature and timestamp are valid.
 * @throws {UnauthorizedError} As {@link validateStripeWebhook}.
 * @throws {ConfigurationError} As {@link validateStripeWebhook}.
 */
export function validatePaymentsWebhook(
  payload: WebhookPayload,
  signatureHeader: string | null | undefined,
  secret: WebhookSecret,
  toleranceSeconds = 300,
): Promise<void> {
  return validateScheme("Payments-Signature", payload, signatureHeader, secret, toleranceSeconds);
}

async function validateScheme(
  headerName: string,
  payload: WebhookPayload,
  signatureHeader: string | null | undefined,
  secret: WebhookSecret,
  toleranceSeconds: number,
): Promise<void> {
  checkTolerance(toleranceSeconds);
  const secrets = readSecrets(secret, headerName);
  const body = readPayload(payload);
  const { timestamp, signatures } = parseHeader(
    readHeader(signatureHeader, headerName),
    headerName,
  );
  if (!await verifyHmac("sha256", secrets, [`${timestamp}.`, body], signatures)) {
    throw wrongSignature(headerName);
  }
  checkTimestamp(timestamp, toleranceSeconds, headerName);
}

function parseHeader(
  header: string,
  headerName: string,
): { timestamp: string; signatures: Uint8Array[] } {
  const timestamps: string[] = [];
  const signatures: Uint8Array[] = [];
  for (const part of header.split(",")) {
    const [key, value] = part.split("=", 2);
    if (key === "t") timestamps.push(value ?? "");
    if (key !== "v1") continue;
    // Stripe's library rejects this too
    if (value === undefined) {
      throw malformedHeader(headerName);
    }
    const signature = decodeHex(value, HMAC_BYTES.sha256);
    if (signature !== undefined) signatures.push(signature);
  }
  const [timestamp] = timestamps;
  if (timestamps.length !== 1 || !UNIX_SECONDS.test(timestamp) || signatures.length === 0) {
    throw malformedHeader(headerName);
  }
  return { timestamp, signatures };
}
