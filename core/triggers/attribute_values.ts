import { decodeBase64 } from "../http/base64.ts";
import type { AttributeMap, AttributeValue } from "./stream_events.ts";

/** Decimal digits that every number of JavaScript keeps (IEEE 754, DBL_DIG). */
const EXACT_DIGITS = 15;

/**
 * Converts an item of a DynamoDB stream to plain values. A number that JavaScript cannot hold exactly
 * stays a string. Sets become arrays, binary values bytes.
 *
 * @param item The item or key.
 * @returns The values.
 */
export function readAttributes(item: AttributeMap): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => [name, readAttribute(value)]),
  );
}

function readAttribute(value: AttributeValue): unknown {
  if ("S" in value) return value.S;
  if ("N" in value) return readNumber(value.N);
  if ("BOOL" in value) return value.BOOL;
  if ("NULL" in value) return null;
  if ("M" in value) return readAttributes(value.M);
  if ("L" in value) return value.L.map(readAttribute);
  if ("SS" in value) return [...value.SS];
  if ("NS" in value) return value.NS.map(readNumber);
  if ("B" in value) return decodeBase64(value.B);
  if ("BS" in value) return value.BS.map(decodeBase64);
  throw new TypeError(`DynamoDB has sent a value of an unknown type: ${Object.keys(value)}`);
}

/** Returns a number, or the text if the number would differ from it. */
function readNumber(text: string): number | string {
  const number = Number(text);
  if (Number.isSafeInteger(number)) {
    // a fraction may have been rounded away
    return countDigits(text) <= EXACT_DIGITS || BigInt(number).toString() === text ? number : text;
  }
  return Number.isFinite(number) && countDigits(text) <= EXACT_DIGITS ? number : text;
}

/** Counts the significant digits of a decimal number. */
function countDigits(text: string): number {
  const [mantissa] = text.toLowerCase().split("e", 1);
  const digits = mantissa.replaceAll(/[-+.]/g, "");
  let start = 0;
  let end = digits.length;
  while (digits[start] === "0") start++;
  while (end > start && digits[end - 1] === "0") end--;
  return end - start;
}
