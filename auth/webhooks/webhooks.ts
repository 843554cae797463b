import { ConfigurationError } from "../../errors/http_errors.ts";
import { HMAC_BYTES, type HmacAlgorithm, verifyHmac } from "../../core/http/hmac.ts";
import {
  checkTimestamp,
  checkTolerance,
  decodeSignature,
  malformedHeader,
  readHeader,
  readPayload,
  readSecrets,
  readTimestamp,
  type WebhookPayload,
  type WebhookSecret,
  wrongSignature,
} from "./webhook_input.ts";

/** Options of {@link validateWebhookSignature}. */
export interface WebhookValidationOptions {
  /**
   * The raw request body, or the consecutive signed parts if a scheme signs more than the body.
   */
  payload: WebhookPayload | readonly WebhookPayload[];
  /** Value of the signature header. */
  signature: string | null | undefined;
  /** The shared secret, or several during a rotation. */
  secret: WebhookSecret;
  /**
   * The hash.
   * @default "sha256"
   */
  algorithm?: HmacAlgorithm;
  /**
   * Encoding of the signature.
   * @default "hex"
   */
  encoding?: "hex" | "base64";
  /**
   * Required prefix of the signature.
   * @default ""
   */
  prefix?: string;
  /**
   * The header's name, for error messages.
   * @default "X-Signature"
   */
  headerName?: string;
  /**
   * Value of the timestamp header, in seconds since 1970. If this key is present, the
   * header is required and the time must be within `toleranceSeconds`. It must also be in
   * the parts of `payload`: a time that is not signed proves nothing.
   */
  timestamp?: string | null | undefined;
  /**
   * Name of the timestamp header, for error messages.
   * @default "X-Timestamp"
   */
  timestampHeaderName?: string;
  /**
   * Maximum difference of `timestamp` from the current time in either direction.
   * @default 300
   */
  toleranceSeconds?: number;
}

/**
 * Checks that a request was signed with a shared secret: HMAC over the raw body, or over several
 * parts, in hexadecimal or base64, compared in constant time.
 *
 * @param options Payload, signature and scheme.
 * @returns A promise that resolves if the signature is valid.
 * @throws {UnauthorizedError} If the signature is missing, malformed or invalid, or the time
 * is out of range. The message names only the header.
 * @throws {ConfigurationError} If the secret is empty, or an option is invalid.
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
  const { algorithm = "sha256", encoding = "hex", prefix = "" } = options;
  const { headerName = "X-Signature" } = options;
  const { timestampHeaderName = "X-Timestamp", toleranceSeconds = 300 } = options;
  checkChoice("algorithm", algorithm, Object.keys(HMAC_BYTES));
  checkChoice("encoding", encoding, ["hex", "base64"]);
  checkTolerance(toleranceSeconds);
  const secrets = readSecrets(options.secret, headerName);
  const parts = readParts(options.payload);
  const timestamp = "timestamp" in options
    ? readTimestamp(options.timestamp, timestampHeaderName)
    : undefined;
  if (timestamp !== undefined) checkSigned(timestamp, options.payload);
  const header = readHeader(options.signature, headerName);
  const signature = header.startsWith(prefix)
    ? decodeSignature(header.slice(prefix.length), encoding, HMAC_BYTES[algorithm])
    : undefined;
  if (signature === undefined) throw malformedHeader(headerName);
  if (!await verifyHmac(algorithm, secrets, parts, [signature])) {
    throw wrongSignature(headerName);
  }
  if (timestamp !== undefined) checkTimestamp(timestamp, toleranceSeconds, timestampHeaderName);
}

function checkChoice(name: string, value: string, choices: readonly string[]): void {
  if (choices.includes(value)) return;
  throw new ConfigurationError(
    `${name} must be one of ${choices.join(", ")}, got ${JSON.stringify(value)}`,
  );
}

function readParts(payload: WebhookValidationOptions["payload"]): WebhookPayload[] {
  return isParts(payload) ? payload.map(readPayload) : [readPayload(payload)];
}

function isParts(
  payload: WebhookValidationOptions["payload"],
): payload is readonly WebhookPayload[] {
  return Array.isArray(payload);
}

function checkSigned(timestamp: string, payload: WebhookValidationOptions["payload"]): void {
  if (
    isParts(payload) && payload.some((part) => typeof part === "string" && part.includes(timestamp))
  ) return;
  throw new ConfigurationError(
    "The timestamp of a webhook must be among what is signed: give it in the payload, such as " +
      "payload: [timestamp, '.', body]",
  );
}

/**
 * Checks a webhook of GitHub: HMAC-SHA256 with the prefix `sha256=`.
 * Source: GitHub's documentation, "Validating webhook deliveries".
 *
 * @param payload The raw request body.
 * @param signatureHeader Value of `X-Hub-Signature-256`.
 * @param secret The webhook's secret, or several during a rotation.
 * @returns A promise that resolves if the signature is valid.
 * @throws {UnauthorizedError} If the signature is missing, malformed or invalid.
 * @throws {ConfigurationError} If the secret is empty.
 *
 * @example
 * ```ts
 * import { validateGitHubWebhook } from "@trellis/fn/auth";
 *
 * const header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
 * await validateGitHubWebhook("Hello, World!", header, "It's a Secret to Everybody");
 * ```
 */
export function validateGitHubWebhook(
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

/**
 * Checks a webhook as {@link validateGitHubWebhook} does, for other code hosts with the same scheme.
 *
 * @param payload The raw request body.
 * @param signatureHeader Value of `X-Hub-Signature-256`.
 * @param secret The webhook's secret, or several during a rotation.
 * @returns A promise that resolves if the signature is valid.
 * @throws {UnauthorizedError} If the signature is missing, malformed or invalid.
 * @throws {ConfigurationError} If the secret is empty.
 */
export const validateCodeHostWebhook: typeof validateGitHubWebhook = validateGitHubWebhook;

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
