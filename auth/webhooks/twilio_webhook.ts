import { refuseCredential } from "../../core/http/refuse_credential.ts";
import { timingSafeEqual } from "../../core/http/timing_safe_equal.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { HMAC_BYTES, verifyHmac } from "../../core/http/hmac.ts";
import {
  decodeHex,
  decodeSignature,
  malformedHeader,
  readHeader,
  readPayload,
  readSecrets,
  type WebhookPayload,
  type WebhookSecret,
  wrongSignature,
} from "./webhook_input.ts";

const HEADER = "X-Twilio-Signature";

/**
 * Checks a request of Twilio: HMAC-SHA1 over the URL and the form's parameters sorted by name,
 * in base64. If the URL has the parameter `bodySHA256`, Twilio signs only the URL, and the
 * parameter is the SHA-256 of the body.
 * Source: Twilio's documentation, "Webhooks security".
 *
 * @param payload The raw request body: a form, JSON, or nothing for a GET.
 * @param signatureHeader Value of `X-Twilio-Signature`.
 * @param secret The account's auth token, or several during a rotation.
 * @param url The complete URL with the query string, as configured in Twilio. The port is optional.
 * Take its origin from your configuration, never from the request's
 * `Host`.
 * @returns A promise that resolves if the signature is valid.
 * @throws {UnauthorizedError} If the signature is missing, malformed or invalid, or the body does
 * not match.
 * @throws {ConfigurationError} If the secret is empty or `url` is not absolute.
 *
 * @example
 * ```ts
 * import { validateTwilioWebhook } from "@trellis/fn/auth";
 *
 * const body = "CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212";
 * const url = "https://mycompany.com/myapp.php?foo=1&bar=2";
 * await validateTwilioWebhook(body, "RSOYDt4T1cUTdK1PDd93/VVr8B8=", "12345", url); // Twilio's own example
 * ```
 */
export async function validateTwilioWebhook(
  payload: WebhookPayload | null | undefined,
  signatureHeader: string | null | undefined,
  secret: WebhookSecret,
  url: string,
): Promise<void> {
  const address = parseAddress(url);
  const secrets = readSecrets(secret, HEADER);
  const body = readPayload(payload);
  const signature = decodeSignature(readHeader(signatureHeader, HEADER), "base64", HMAC_BYTES.sha1);
  if (signature === undefined) throw malformedHeader(HEADER);
  const bodyHash = address.searchParams.get("bodySHA256");
  const params = bodyHash === null ? joinParams(body) : "";
  const candidates = listAddresses(url, address);
  const matches = await Promise.all(
    candidates.map((each) => verifyHmac("sha1", secrets, [each, params], [signature])),
  );
  if (!matches.includes(true)) {
    throw wrongSignature(HEADER);
  }
  if (bodyHash !== null && !await isHashOf(bodyHash, body)) {
    throw refuseCredential("bad signature", "The body does not match the parameter bodySHA256");
  }
}

function parseAddress(url: string): URL {
  try {
    return new URL(url);
  } catch (cause) {
    throw new ConfigurationError(
      "The url of a webhook must be absolute, such as https://api.example.com/sms",
      { cause },
    );
  }
}

const SCHEME_AND_HOST = /^([a-z][a-z\d+.-]*:\/\/)([^/?#]*)/i;

/**
 * Lists the URL with and without its port, because Twilio's products differ in this.
 */
function listAddresses(url: string, { href }: URL): string[] {
  const addresses = new Set<string>();
  for (const each of [url, href]) {
    addresses.add(each.replace(SCHEME_AND_HOST, (_, scheme, host) => scheme + removePort(host)));
    addresses.add(
      each.replace(SCHEME_AND_HOST, (_, scheme, host) => scheme + addPort(scheme, host)),
    );
  }
  return [...addresses];
}

function removePort(host: string): string {
  return host.replace(/:\d*$/, "");
}

function addPort(scheme: string, host: string): string {
  if (/:\d+$/.test(host)) return host;
  return `${removePort(host)}:${scheme.toLowerCase() === "https://" ? 443 : 80}`;
}

/**
 * Concatenates a form's names and values, sorted by name. Duplicate values count once.
 */
function joinParams(body: WebhookPayload): string {
  const form = new URLSearchParams(
    typeof body === "string" ? body : new TextDecoder("utf-8", { ignoreBOM: true }).decode(body),
  );
  let joined = "";
  for (const name of [...new Set(form.keys())].sort()) {
    for (const value of [...new Set(form.getAll(name))].sort()) joined += name + value;
  }
  return joined;
}

async function isHashOf(hex: string, body: WebhookPayload): Promise<boolean> {
  const expected = decodeHex(hex, HMAC_BYTES.sha256);
  if (expected === undefined) return false;
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
  return timingSafeEqual(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)), expected);
}
