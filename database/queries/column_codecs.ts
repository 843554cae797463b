/**
 * Encoders and decoders of drizzle's columns, for statements that are compiled ahead of time. Each
 * gives the values of drizzle 0.45. `trellis build` uses one only after it gave the same values as
 * the column itself.
 */
import { parseArray } from "../session/array_literal.ts";

type Codec = (value: unknown) => unknown;

/** Decodes `int4` of a server that sends it as text. */
export function decodeInteger(value: unknown): unknown {
  return typeof value === "string" ? Number.parseInt(value) : value;
}

/** Decodes `int2` of a server that sends it as text. */
export function decodeSmallInteger(value: unknown): unknown {
  return typeof value === "string" ? Number(value) : value;
}

/** Decodes `float4` and `float8` of a server that sends them as text. */
export function decodeFloat(value: unknown): unknown {
  return typeof value === "string" ? Number.parseFloat(value) : value;
}

/** Decodes `int8` and `numeric` to a number. */
export function decodeNumber(value: unknown): unknown {
  return typeof value === "number" ? value : Number(value);
}

/** Decodes `int8` and `numeric` to a bigint. */
export function decodeBigInt(value: unknown): unknown {
  return BigInt(value as string);
}

/** Decodes `numeric` to a string. */
export function decodeString(value: unknown): unknown {
  return typeof value === "string" ? value : String(value);
}

/** Decodes `timestamptz` and `date` to a `Date`. */
export function decodeDate(value: unknown): unknown {
  return typeof value === "string" ? new Date(value) : value;
}

/** Decodes `timestamp` without time zone to a `Date` in UTC. */
export function decodeUtcDate(value: unknown): unknown {
  return typeof value === "string" ? new Date(`${value}+0000`) : value;
}

/** Creates the decoder of an array, which keeps NULL. */
export function decodeArray(decodeItem?: Codec): Codec {
  return function decodeItems(value: unknown): unknown {
    const items = typeof value === "string" ? parseArray(value, (item) => item) : value;
    if (!Array.isArray(items) || decodeItem === undefined) return items;
    return items.map((item) => item === null ? null : decodeItem(item));
  };
}

/** Encodes a `Date`. */
export function encodeDate(value: unknown): unknown {
  return (value as Date).toISOString();
}

/** Encodes `json` and `jsonb`. */
export function encodeJson(value: unknown): unknown {
  return JSON.stringify(value);
}

/** Encodes `numeric` of a number or a bigint. */
export function encodeString(value: unknown): unknown {
  return String(value);
}

/** Creates the encoder of an array: drizzle's text of it. */
export function encodeArray(encodeItem: Codec = (item) => item): Codec {
  return (value) => formatItems(encodeItems(value as unknown[], encodeItem));
}

/** Creates the encoder of an array in an array. */
export function encodeNested(encodeItem: Codec = (item) => item): Codec {
  return (value) => encodeItems(value as unknown[], encodeItem);
}

function encodeItems(items: unknown[], encodeItem: Codec): unknown[] {
  return items.map((item) => item === null ? null : encodeItem(item));
}

function formatItems(items: unknown[]): string {
  return `{${items.map(formatItem).join(",")}}`;
}

function formatItem(item: unknown): string {
  if (Array.isArray(item)) return formatItems(item);
  if (typeof item !== "string") return `${item}`;
  return `"${item.replace(/\\/g, "\\\\").replace(/"/g, '\\"')}"`;
}
