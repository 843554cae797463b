import { formatArray } from "./array_literal.ts";

/**
 * Formats a parameter as PostgreSQL's text form, like node-postgres. The server infers the type
 * from the context. A `Date` is written in UTC, bytes as hex, an array as an array, any other
 * object as JSON.
 *
 * @param value The parameter.
 * @returns The text, or null for NULL.
 * @throws {TypeError} If a `Date` is invalid.
 */
export function toParameterText(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return null;
  if (typeof value !== "object") return String(value);
  if (value instanceof Date) return toTimestampText(value);
  const bytes = asBytes(value);
  if (bytes !== undefined) return toHexText(bytes);
  if (Array.isArray(value)) return formatArray(value, toParameterText);
  const { toPostgres } = value as { toPostgres?: (prepare: typeof toParameterText) => unknown };
  if (typeof toPostgres === "function") {
    return toParameterText(toPostgres.call(value, toParameterText));
  }
  return JSON.stringify(value);
}

/**
 * Formats a timestamp in UTC, also for years that ISO 8601 writes with a sign, which PostgreSQL
 * does not accept.
 *
 * @param date A valid date.
 * @returns For example `2026-01-31T12:00:00.000Z`.
 */
export function toTimestampText(date: Date): string {
  if (Number.isNaN(date.getTime())) throw new TypeError("A Date in the parameters is invalid");
  const year = date.getUTCFullYear();
  const iso = date.toISOString();
  if (year > 0 && year < 10_000) return iso;
  const rest = iso.slice(iso.indexOf("-", 1));
  return year > 0 ? `${year}${rest}` : `${String(1 - year).padStart(4, "0")}${rest} BC`;
}

/**
 * Formats bytes in PostgreSQL's hex format.
 *
 * @returns For example `\x00ff`.
 */
export function toHexText(bytes: Uint8Array): string {
  let text = "\\x";
  for (const byte of bytes) text += byte.toString(16).padStart(2, "0");
  return text;
}

function asBytes(value: object): Uint8Array | undefined {
  if (value instanceof Uint8Array) return value;
  if (ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  }
  return value instanceof ArrayBuffer ? new Uint8Array(value) : undefined;
}
