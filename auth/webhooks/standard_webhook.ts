import { ConfigurationError } from "../../errors/http_errors.ts";
import { encodeBase64 } from "../../core/http/base64.ts";
import { computeHmac, HMAC_BYTES, type HmacSecret, verifyHmac } from "../../core/http/hmac.ts";
import {
  CANONICAL_BASE64,
  checkTimestamp,
  checkTolerance,
  decodeBase64,
  decodeSignature,
  findHeader,
  malformedHeader,
  readHeader,
  readPayload,
  readSecrets,
  readTimestamp,
  type WebhookHeaders,
  type WebhookPayload,
  type WebhookSecret,
  wrongSignature,
} from "./webhook_input.ts";

/**
 * Checks a webhook of the Standard Webhooks scheme (symmetric, `v1`): HMAC-SHA256 over
 * `<id>.<timestamp>.<raw body>`, in base64, with the headers `webhook-id`, `webhook-timestamp` and
 * `webhook-signature`. At least one signature must match; other
 * versions are ignored. A repeated message has the same `webhook-id`: store it to recognize
 * repetitions. Svix sends the same under the names `svix-id`, `svix-timestamp`
 * and `svix-signature`; they have priority over the standard names, like in Svix's library.
 * Source: the specification at standardwebhooks.com.
 *
 * @param payload The raw request body.
 * @param headers The request's headers, such as `event.headers`.
 * @param secret `whsec_` and base64, padded or not, or several during a rotation.
 * @param toleranceSeconds Maximum difference of the timestamp from the current time. Default: 300.
 * @returns A promise that resolves if signature and timestamp are valid.
 * @throws {UnauthorizedError} If a header is missing or malformed, the signature is invalid, too
 * old or from the future.
 * @throws {ConfigurationError} If the secret is empty or not base64, or the tolerance is not a
 * number from 0.
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
  const [givenId, idName] = pickHeader(headers, "id");
  const [givenTime, timeName] = pickHeader(headers, "timestamp");
  const [signature, signatureName] = pickHeader(headers, "signature");
  const id = readHeader(givenId, idName);
  const timestamp = readTimestamp(givenTime, timeName);
  const signatures = parseSignatures(readHeader(signature, signatureName), signatureName);
  // a full stop would allow moving bytes between id, timestamp and body of a signed message
  if (id.includes(".")) throw malformedHeader(idName);
  if (!await verifyHmac("sha256", secrets, getSignedParts(id, timestamp, body), signatures)) {
    throw wrongSignature(signatureName);
  }
  checkTimestamp(timestamp, toleranceSeconds, timeName);
}

/** The headers of a signed webhook. */
export interface StandardWebhookHeaders {
  /** Id of the message, the same each time that it is sent. */
  readonly "webhook-id": string;
  /** The time of this attempt, in seconds since 1970. */
  readonly "webhook-timestamp": string;
  /** A signature for each secret. */
  readonly "webhook-signature": string;
}

/** Visible ASCII without the full stop, which separates the signed parts. */
const MESSAGE_ID = /^[\x21-\x2d\x2f-\x7e]{1,200}$/;

/**
 * Signs a webhook for its receiver with the scheme of {@link validateStandardWebhook}, which libraries of Standard Webhooks
 * and Svix check. Sign each attempt anew: receivers refuse old timestamps.
 *
 * @param payload The request body, exactly as it is sent.
 * @param id Id of the message, by which receivers recognize a repetition: the same for each attempt, such as the id of
 * the job that sends it.
 * @param secret `whsec_` and base64, one for each receiver; `[next, current]` during a rotation signs with both.
 * @returns The headers to send.
 * @throws {ConfigurationError} If the secret is empty or not base64, or the id cannot be sent.
 *
 * @example
 * ```ts
 * import { signStandardWebhook, validateStandardWebhook } from "@trellis/fn/auth";
 *
 * const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
 * const body = JSON.stringify({ type: "invoice.paid" });
 * const headers = await signStandardWebhook(body, "msg_1", secret);
 * // fetch(url, { method: "POST", body, headers: { "Content-Type": "application/json", ...headers } })
 * await validateStandardWebhook(body, { ...headers }, secret);
 * ```
 */
export async function signStandardWebhook(
  payload: WebhookPayload,
  id: string,
  secret: WebhookSecret,
): Promise<StandardWebhookHeaders> {
  const secrets = readSecrets(secret, "webhook-signature").map(decodeSecret);
  if (typeof id !== "string" || !MESSAGE_ID.test(id)) {
    throw new ConfigurationError(
      `The id of a webhook must be 1 to 200 visible ASCII characters without a full stop, got ${
        JSON.stringify(id)
      }`,
    );
  }
  const timestamp = String(Math.floor(Date.now() / 1000));
  const parts = getSignedParts(id, timestamp, readPayload(payload));
  const signatures = await Promise.all(
    secrets.map((each) => computeHmac("sha256", each, parts)),
  );
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.map((bytes) => `v1,${encodeBase64(bytes)}`).join(" "),
  };
}

function getSignedParts(id: string, timestamp: string, body: WebhookPayload): WebhookPayload[] {
  return [`${id}.${timestamp}.`, body];
}

/** Value and name of a header. */
type NamedHeader = readonly [value: string | null | undefined, name: string];

function pickHeader(headers: WebhookHeaders, name: string): NamedHeader {
  const value = findHeader(headers, `svix-${name}`) ?? undefined;
  if (value !== undefined) return [value, `svix-${name}`];
  return [findHeader(headers, `webhook-${name}`), `webhook-${name}`];
}

function decodeSecret({ text }: HmacSecret): HmacSecret {
  const given = text.startsWith("whsec_") ? text.slice("whsec_".length) : text;
  const base64 = given.includes("=") ? given : pad(given);
  if (base64 === undefined || decodeBase64(base64) === undefined) {
    throw new ConfigurationError(
      'The secret for webhook-signature must be base64, with or without "whsec_" before it',
    );
  }
  return { text: base64, encoding: "base64" };
}

/** Adds the padding. Truncated text has surplus bits in its last character. */
function pad(base64: string): string | undefined {
  const padded = base64.padEnd(Math.ceil(base64.length / 4) * 4, "=");
  return CANONICAL_BASE64.test(padded) ? padded : undefined;
}

function parseSignatures(header: string, name: string): Uint8Array[] {
  const signatures: Uint8Array[] = [];
  for (const entry of header.split(" ")) {
    const text = entry.startsWith("v1,") ? entry.slice("v1,".length) : "";
    const bytes = decodeSignature(text, "base64", HMAC_BYTES.sha256);
    if (bytes !== undefined) signatures.push(bytes);
  }
  if (signatures.length === 0) throw malformedHeader(name);
  return signatures;
}
