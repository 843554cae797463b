import { decodeBase64 as bytesOfBase64 } from "../core/http/base64.ts";
import { ConfigurationError, UnauthorizedError } from "../errors/http_errors.ts";
import type { HmacSecret } from "./hmac.ts";

/** One secret, or several while one is being replaced. */
export type WebhookSecret = string | readonly string[];

/** The raw body of a request: exactly the bytes that were sent, never a parsed and re-serialized object. */
export type WebhookPayload = string | Uint8Array;

/**
 * The secrets to try.
 *
 * @param secret As the application gives it.
 * @param what What it is for, for the message.
 * @returns At least one.
 * @throws {ConfigurationError} When there is none or one of them is empty: a check against nothing would let anyone in.
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
 * The payload, an absent body being an empty one.
 *
 * @param payload As the application gives it.
 * @returns Text or bytes.
 * @throws {ConfigurationError} When it is neither, such as a parsed object.
 */
export function readPayload(payload: WebhookPayload | null | undefined): WebhookPayload {
  if (payload === null || payload === undefined) return "";
  if (typeof payload === "string" || payload instanceof Uint8Array) return payload;
  throw new ConfigurationError(
    `A webhook's payload must be the raw body as a string or bytes, got ${typeof payload}: the signature is over the exact bytes`,
  );
}

/**
 * The value of a signature header.
 *
 * @param value As it came.
 * @param headerName For the message.
 * @returns The value.
 * @throws {UnauthorizedError} When it is missing or empty.
 */
export function readHeader(value: string | null | undefined, headerName: string): string {
  if (typeof value !== "string" || value === "") {
    throw new UnauthorizedError(`The ${headerName} header is missing`);
  }
  return value;
}

/**
 * The bytes of a hexadecimal text in either case.
 *
 * @param text The text.
 * @param length How many bytes there must be.
 * @returns The bytes, or `undefined` when it is anything else.
 */
export function decodeHex(text: string, length: number): Uint8Array | undefined {
  if (text.length !== length * 2 || !/^[0-9a-f]*$/i.test(text)) return undefined;
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at++) {
    bytes[at] = hexDigit(text.charCodeAt(2 * at)) << 4 | hexDigit(text.charCodeAt(2 * at + 1));
  }
  return bytes;
}

/** The value of a hexadecimal digit by its character code: letters are 9 above their lowest four bits. */
function hexDigit(code: number): number {
  return (code & 15) + (code >> 6) * 9;
}

/**
 * The bytes of a base64 text (RFC 4648 section 4, with its padding).
 *
 * @param text The text.
 * @returns The bytes, or `undefined` when it is anything else.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  return bytesOfBase64(text);
}

/** Base64 as it is written for some bytes: padded, and without stray bits in the last letter. */
export const CANONICAL_BASE64 = /^[A-Za-z0-9+/]*(?:[AQgw]==|[AEIMQUYcgkosw048]=)?$/;

/**
 * Returns the bytes of a signature.
 *
 * @param text The signature as it is written.
 * @param encoding How it is written.
 * @param length How many bytes there must be.
 * @returns The bytes, or `undefined` if the text is not the one way to write so many bytes (hexadecimal in either case).
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
 * Refuses a request that was signed too long ago, or too far ahead of the clock: an old one may be a replay.
 *
 * @param timestamp Seconds since 1970, in decimal digits.
 * @param toleranceSeconds How far it may be from now, either way.
 * @param headerName For the message.
 * @throws {UnauthorizedError} When it is further away.
 */
export function checkTimestamp(
  timestamp: string,
  toleranceSeconds: number,
  headerName: string,
): void {
  const ageSeconds = Math.floor(Date.now() / 1000) - Number(timestamp);
  if (Math.abs(ageSeconds) > toleranceSeconds) {
    throw new UnauthorizedError(
      `The timestamp in the ${headerName} header is ${
        ageSeconds > 0 ? "older" : "further ahead"
      } than ${toleranceSeconds} seconds`,
    );
  }
}

/**
 * Checks the option of that name.
 *
 * @param toleranceSeconds As the application gives it.
 * @throws {ConfigurationError} When it is no number of seconds from 0.
 */
export function checkTolerance(toleranceSeconds: number): void {
  if (typeof toleranceSeconds !== "number" || !(toleranceSeconds >= 0)) {
    throw new ConfigurationError(
      `toleranceSeconds must be a number of seconds from 0, got ${toleranceSeconds}`,
    );
  }
}

/** Seconds since 1970 as they stand in a header. */
export const UNIX_SECONDS = /^\d{1,12}$/;

/**
 * Returns the value of a header with a time.
 *
 * @param value As it came.
 * @param headerName For the message.
 * @returns Seconds since 1970, in decimal digits.
 * @throws {UnauthorizedError} If it is missing or anything else.
 */
export function readTimestamp(value: string | null | undefined, headerName: string): string {
  const timestamp = readHeader(value, headerName);
  if (!UNIX_SECONDS.test(timestamp)) {
    throw new UnauthorizedError(`The ${headerName} header is malformed`);
  }
  return timestamp;
}
