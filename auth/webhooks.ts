import { ConfigurationError, UnauthorizedError } from "../errors/mod.ts";
import { HMAC_BYTES, type HmacAlgorithm, verifyHmac } from "./hmac.ts";
import {
  checkTimestamp,
  checkTolerance,
  decodeHex,
  readHeader,
  readPayload,
  readSecrets,
  UNIX_SECONDS,
  type WebhookPayload,
  type WebhookSecret,
} from "./webhook_input.ts";

/** What {@link validateWebhookSignature} checks. */
export interface WebhookValidationOptions {
  /** The raw request body. */
  payload: WebhookPayload;
  /** Value of the signature header. */
  signature: string | null | undefined;
  /** The shared secret, or several while one is being replaced. */
  secret: WebhookSecret;
  /**
   * The hash.
   * @default "sha256"
   */
  algorithm?: HmacAlgorithm;
  /**
   * What stands before the hexadecimal signature; it must be there.
   * @default ""
   */
  prefix?: string;
  /**
   * The header's name, for error messages.
   * @default "X-Signature"
   */
  headerName?: string;
}

/**
 * Checks that a request was signed with a shared secret: HMAC over the raw body, hexadecimal, in either case, compared in
 * constant time.
 *
 * @param options What to check.
 * @returns A promise that resolves when the signature is good.
 * @throws {UnauthorizedError} When the signature is missing, malformed or not good. The message names the header alone.
 * @throws {ConfigurationError} When the secret is empty, or an option cannot be meant.
 *
 * @example
 * ```ts
 * import { validateWebhookSignature } from "@trellis/fn/auth";
 *
 * await validateWebhookSignature({
 *   payload: "what do ya want for nothing?",
 *   signature: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
 *   secret: "Jefe", // RFC 4231, test case 2
 * });
 * ```
 */
export async function validateWebhookSignature(options: WebhookValidationOptions): Promise<void> {
  const { algorithm = "sha256", prefix = "", headerName = "X-Signature" } = options;
  if (!Object.hasOwn(HMAC_BYTES, algorithm)) {
    throw new ConfigurationError(
      `algorithm must be one of ${Object.keys(HMAC_BYTES).join(", ")}, got ${JSON.stringify(algorithm)}`,
    );
  }
  const secrets = readSecrets(options.secret, headerName);
  const payload = readPayload(options.payload);
  const header = readHeader(options.signature, headerName);
  const signature = header.startsWith(prefix)
    ? decodeHex(header.slice(prefix.length), HMAC_BYTES[algorithm])
    : undefined;
  if (signature === undefined) throw new UnauthorizedError(`The ${headerName} header is malformed`);
  if (!await verifyHmac(algorithm, secrets, [payload], [signature])) {
    throw new UnauthorizedError(`The signature in the ${headerName} header does not match`);
  }
}

/**
 * Checks a webhook of GitHub: HMAC-SHA256 with the prefix `sha256=`.
 * Source: GitHub's documentation, "Validating webhook deliveries".
 *
 * @param payload The raw request body.
 * @param signatureHeader Value of `X-Hub-Signature-256`.
 * @param secret The webhook's secret, or several while one is being replaced.
 * @returns A promise that resolves when the signature is good.
 * @throws {UnauthorizedError} When the signature is missing, malformed or not good.
 * @throws {ConfigurationError} When the secret is empty.
 *
 * @example
 * ```ts
 * import { validateCodeHostWebhook } from "@trellis/fn/auth";
 *
 * const header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
 * await validateCodeHostWebhook("Hello, World!", header, "It's a Secret to Everybody");
 * ```
 */
export function validateCodeHostWebhook(
  payload: WebhookPayload,
  signatureHeader: string | null | undefined,
  secret: WebhookSecret,
): Promise<void> {
  return validateWebhookSignature({
    payload,
    signature: signatureHeader,
    secret,
    prefix: "sha256=",
    headerName: "X-Hub-Signature-256",
  });
}

const PAYMENTS_HEADER = "Payments-Signature";

/**
 * Checks a webhook of Stripe's scheme: `t=<seconds>,v1=<hex>`, HMAC-SHA256 over `<seconds>.<raw body>`. Several `v1` may
 * stand in one header, one that matches is enough; other keys are skipped.
 * Source: Stripe's documentation, "Verify webhook signatures manually".
 *
 * @param payload The raw request body.
 * @param signatureHeader Value of `Payments-Signature` (Stripe's own name for it is `Stripe-Signature`).
 * @param secret The endpoint's secret, or several while one is being replaced.
 * @param toleranceSeconds How far the timestamp may be from now, either way; 300 when left out.
 * @returns A promise that resolves when signature and timestamp are good.
 * @throws {UnauthorizedError} When the signature is missing, malformed, not good, too old or from the future.
 * @throws {ConfigurationError} When the secret is empty or the tolerance is no number from 0.
 *
 * @example
 * ```ts
 * import { validatePaymentsWebhook } from "@trellis/fn/auth";
 * import { createHmac } from "node:crypto";
 *
 * const body = '{"id":"evt_1"}';
 * const seconds = Math.floor(Date.now() / 1000);
 * const hex = createHmac("sha256", "whsec_test").update(`${seconds}.${body}`).digest("hex");
 * await validatePaymentsWebhook(body, `t=${seconds},v1=${hex}`, "whsec_test");
 * ```
 */
export async function validatePaymentsWebhook(
  payload: WebhookPayload,
  signatureHeader: string | null | undefined,
  secret: WebhookSecret,
  toleranceSeconds = 300,
): Promise<void> {
  checkTolerance(toleranceSeconds);
  const secrets = readSecrets(secret, PAYMENTS_HEADER);
  const body = readPayload(payload);
  const { timestamp, signatures } = parsePaymentsHeader(readHeader(signatureHeader, PAYMENTS_HEADER));
  if (!await verifyHmac("sha256", secrets, [`${timestamp}.`, body], signatures)) {
    throw new UnauthorizedError(`The signature in the ${PAYMENTS_HEADER} header does not match`);
  }
  checkTimestamp(timestamp, toleranceSeconds, PAYMENTS_HEADER);
}

function parsePaymentsHeader(header: string): { timestamp: string; signatures: Uint8Array[] } {
  const timestamps: string[] = [];
  const signatures: Uint8Array[] = [];
  for (const part of header.split(",")) {
    const [key, value = ""] = part.split("=", 2);
    if (key === "t") timestamps.push(value);
    if (key !== "v1") continue;
    const signature = decodeHex(value, HMAC_BYTES.sha256);
    if (signature !== undefined) signatures.push(signature);
  }
  const [timestamp] = timestamps;
  if (timestamps.length !== 1 || !UNIX_SECONDS.test(timestamp) || signatures.length === 0) {
    throw new UnauthorizedError(`The ${PAYMENTS_HEADER} header is malformed`);
  }
  return { timestamp, signatures };
}
