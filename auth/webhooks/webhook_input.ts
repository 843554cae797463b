import { decodeBase64 as bytesOfBase64 } from "../../core/http/base64.ts";
import { ConfigurationError, type UnauthorizedError } from "../../errors/http_errors.ts";
import type { HmacSecret } from "../../core/http/hmac.ts";
import { refuseCredential } from "../../core/http/refuse_credential.ts";

/** One secret, or several during a rotation. */
export type WebhookSecret = string | readonly string[];

/** The raw body of a request: the received bytes, never a parsed and serialized object. */
export type WebhookPayload = string | Uint8Array;

/**
 * Returns the secrets as a list.
 *
 * @param secret The option of the application.
 * @param what Purpose of the secret, for the message.
 * @returns At least one secret.
 * @throws {ConfigurationError} If there is none or one is empty.
 */
export function readSecrets(secret: WebhookSecret, what: string): HmacSecret[] {
  const texts: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  if (texts.length === 0 || !texts.every((text) => typeof text === "string" && text !== "")) {
    throw new ConfigurationError(
      `The secret for ${what} is missing or empty: set it, each one if it is a list`,
    );
  }
  return texts.map((text) => ({ text: text as string, encoding: "utf8" }));
}

/**
 * Returns the payload. A missing body is an empty one.
 *
 * @param payload The argument of the application.
 * @returns Text or bytes.
 * @throws {ConfigurationError} If it is neither, such as a parsed object.
 */
export function readPayload(payload: WebhookPayload | null | undefined): WebhookPayload {
  if (payload === null || payload === undefined) return "";
  if (typeof payload === "string" || payload instanceof Uint8Array) return payload;
  throw new ConfigurationError(
    `A webhook's payload must be the raw body as a string or bytes, got ${typeof payload}: the signature is over the exact bytes`,
  );
}

/**
 * Returns the value of a signature header.
 *
 * @param value Value in the request.
 * @param headerName Name for the message.
 * @returns The value.
 * @throws {UnauthorizedError} If it is missing or empty.
 */
export function readHeader(value: string | null | undefined, headerName: string): string {
  if (typeof value !== "string" || value === "") {
    throw refuseCredential("no credential", `The ${headerName} header is missing`);
  }
  return value;
}

/** Returns the error of a header that cannot be read. */
export function malformedHeader(headerName: string): UnauthorizedError {
  return refuseCredential("malformed", `The ${headerName} header is malformed`);
}

/** Returns the error of a signature that belongs to another secret or another message. */
export function wrongSignature(headerName: string): UnauthorizedError {
  return refuseCredential(
    "bad signature",
    `The signature in the ${headerName} header does not match`,
  );
}

/**
 * Decodes hexadecimal text in either case.
 *
 * @param text The text.
 * @param length Expected number of bytes.
 * @returns The bytes, or `undefined` if the text is malformed or has another length.
 */
export function decodeHex(text: string, length: number): Uint8Array | undefined {
  if (text.length !== length * 2 || !/^[0-9a-f]*$/i.test(text)) return undefined;
  return Uint8Array.from(text.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
}

/**
 * Decodes padded base64 (RFC 4648 section 4).
 *
 * @returns The bytes, or `undefined` if the text is malformed.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  return bytesOfBase64(text);
}

/** Matches canonical base64: padded, without surplus bits in the last character. */
export const CANONICAL_BASE64 = /^[A-Za-z0-9+/]*(?:[AQgw]==|[AEIMQUYcgkosw048]=)?$/;

/**
 * Decodes a signature.
 *
 * @param text The encoded signature.
 * @param encoding Its encoding.
 * @param length Expected number of bytes.
 * @returns The bytes, or `undefined` if the text is not the canonical form of that many bytes
 * (hexadecimal in either case).
 */
export function decodeSignature(
  text: string,
  encoding: "hex" | "base64",
  length: number,
): Uint8Array | undefined {
  if (encoding === "hex") return decodeHex(text, length);
  const bytes = CANONICAL_BASE64.test(text) ? decodeBase64(text) : undefined;
  return bytes?.length === length ? bytes : undefined;
}

/**
 * Rejects a request whose timestamp differs too much from the current time. An old request may be a
 * replay.
 *
 * @param timestamp Seconds since 1970, in decimal digits.
 * @param toleranceSeconds Maximum difference from the current time.
 * @param headerName Name for the message.
 * @throws {UnauthorizedError} If the difference is larger.
 */
export function checkTimestamp(
  timestamp: string,
  toleranceSeconds: number,
  headerName: string,
): void {
  const ageSeconds = Math.floor(Date.now() / 1000) - Number(timestamp);
  if (Math.abs(ageSeconds) > toleranceSeconds) {
    const place = ageSeconds > 0 ? "older" : "further ahead";
    throw refuseCredential(
      "expired",
      `The timestamp in the ${headerName} header is ${place} than ${toleranceSeconds} seconds`,
    );
  }
}

/**
 * Checks the option `toleranceSeconds`.
 *
 * @param toleranceSeconds The option of the application.
 * @throws {ConfigurationError} If it is not a number of seconds from 0.
 */
export function checkTolerance(toleranceSeconds: number): void {
  if (typeof toleranceSeconds !== "number" || !(toleranceSeconds >= 0)) {
    throw new ConfigurationError(
      `toleranceSeconds must be a number of seconds from 0, got ${toleranceSeconds}`,
    );
  }
}

/** Matches seconds since 1970 in a header. */
export const UNIX_SECONDS = /^\d{1,12}$/;

/**
 * Returns the value of a header with a time.
 *
 * @param value Value in the request.
 * @param headerName Name for the message.
 * @returns Seconds since 1970, in decimal digits.
 * @throws {UnauthorizedError} If it is missing or malformed.
 */
export function readTimestamp(value: string | null | undefined, headerName: string): string {
  const timestamp = readHeader(value, headerName);
  if (!UNIX_SECONDS.test(timestamp)) {
    throw malformedHeader(headerName);
  }
  return timestamp;
}

/** Headers of a request: an object with names in any case, or `Headers`. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | undefined>>;

/**
 * Returns a header.
 *
 * @param headers The request's headers.
 * @param name The name in lower case.
 * @returns The value, or `undefined`.
 */
export function findHeader(headers: WebhookHeaders, name: string): string | null | undefined {
  if (!headers) return undefined; // null in a manual invocation
  if (typeof headers.get === "function") return (headers as Headers).get(name);
  const plain = headers as Readonly<Record<string, string | undefined>>;
  return plain[name] ?? plain[Object.keys(plain).find((key) => key.toLowerCase() === name) ?? name];
}
