import { ConfigurationError, UnauthorizedError } from "../errors/mod.ts";
import { HMAC_BYTES, type HmacSecret, verifyHmac } from "./hmac.ts";
import {
  checkTimestamp,
  checkTolerance,
  decodeBase64,
  readHeader,
  readPayload,
  readSecrets,
  UNIX_SECONDS,
  type WebhookPayload,
  type WebhookSecret,
} from "./webhook_input.ts";

/** Headers of a request: a plain object with names in any case, or the web's `Headers`. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | undefined>>;

/**
 * Checks a webhook of the Standard Webhooks scheme (symmetric, `v1`): HMAC-SHA256 over `<id>.<timestamp>.<raw body>`, in
 * base64, with the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`. Several signatures may stand in the
 * header, one that matches is enough; those of other versions are skipped. `webhook-id` stays the same when a message is
 * sent again: keep it to recognize repetitions.
 * Source: the specification at standardwebhooks.com.
 *
 * @param payload The raw request body.
 * @param headers The request's headers, such as `event.headers`.
 * @param secret `whsec_` and base64, or several while one is being replaced.
 * @param toleranceSeconds How far the timestamp may be from now, either way; 300 when left out.
 * @returns A promise that resolves when signature and timestamp are good.
 * @throws {UnauthorizedError} When a header is missing or malformed, the signature not good, too old or from the future.
 * @throws {ConfigurationError} When the secret is empty or no base64, or the tolerance is no number from 0.
 *
 * @example
 * ```ts
 * import { validateStandardWebhook } from "@trellis/fn/auth";
 *
 * const headers = {
 *   "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
 *   "webhook-timestamp": "1614265330",
 *   "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
 * };
 * const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
 * await validateStandardWebhook('{"test": 2432232314}', headers, secret, Infinity); // Infinity: an example of 2021
 * ```
 */
export async function validateStandardWebhook(
  payload: WebhookPayload,
  headers: WebhookHeaders,
  secret: WebhookSecret,
  toleranceSeconds = 300,
): Promise<void> {
  checkTolerance(toleranceSeconds);
  const secrets = readSecrets(secret, "webhook-signature").map(decodeSecret);
  const body = readPayload(payload);
  const id = readHeader(findHeader(headers, "webhook-id"), "webhook-id");
  const timestamp = readHeader(findHeader(headers, "webhook-timestamp"), "webhook-timestamp");
  const signatures = parseSignatures(readHeader(findHeader(headers, "webhook-signature"), "webhook-signature"));
  // a full stop would let a sender of one signed message shift bytes between id, timestamp and body
  if (id.includes(".")) throw new UnauthorizedError("The webhook-id header is malformed");
  if (!UNIX_SECONDS.test(timestamp)) throw new UnauthorizedError("The webhook-timestamp header is malformed");
  if (!await verifyHmac("sha256", secrets, [`${id}.${timestamp}.`, body], signatures)) {
    throw new UnauthorizedError("The signature in the webhook-signature header does not match");
  }
  checkTimestamp(timestamp, toleranceSeconds, "webhook-timestamp");
}

function decodeSecret({ text }: HmacSecret): HmacSecret {
  const base64 = text.startsWith("whsec_") ? text.slice("whsec_".length) : text;
  if (decodeBase64(base64) === undefined) {
    throw new ConfigurationError('The secret for webhook-signature must be base64, with or without "whsec_" before it');
  }
  return { text: base64, encoding: "base64" };
}

function parseSignatures(header: string): Uint8Array[] {
  const signatures: Uint8Array[] = [];
  for (const entry of header.split(" ")) {
    const bytes = entry.startsWith("v1,") ? decodeBase64(entry.slice("v1,".length)) : undefined;
    if (bytes?.length === HMAC_BYTES.sha256) signatures.push(bytes);
  }
  if (signatures.length === 0) throw new UnauthorizedError("The webhook-signature header is malformed");
  return signatures;
}

function findHeader(headers: WebhookHeaders, name: string): string | null | undefined {
  if (!headers) return undefined; // null when somebody invokes the function by hand
  if (typeof headers.get === "function") return (headers as Headers).get(name);
  const plain = headers as Readonly<Record<string, string | undefined>>;
  return plain[name] ?? plain[Object.keys(plain).find((key) => key.toLowerCase() === name) ?? name];
}
