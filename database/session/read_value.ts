import { builtinModule } from "../../env/builtin_module.ts";
import { parseArray } from "./array_literal.ts";
import { BUILT_IN_TYPES } from "./type_ids.ts";

/** Parser of PostgreSQL's text form of one type; not called for NULL. */
export type ValueReader = (text: string) => unknown;

/**
 * Parsers of types that are not strings in JavaScript. Same choice as node-postgres, except that
 * date and interval stay strings.
 */
const READERS: Readonly<Record<string, ValueReader>> = {
  bool: (text) => text === "t",
  bytea: readBytes,
  int2: Number,
  int4: Number,
  oid: Number,
  float4: Number,
  float8: Number,
  json: (text) => JSON.parse(text),
  jsonb: (text) => JSON.parse(text),
  timestamp: readTimestamp,
  timestamptz: readTimestamp,
  point: readPoint,
  circle: readCircle,
};

const TIME_TYPES: ReadonlySet<string> = new Set(["timestamp", "timestamptz"]);

type ReadersById = ReadonlyMap<number, ValueReader>;
let rawReaders: ReadersById | undefined;
let columnReaders: ReadersById | undefined;

/**
 * Returns the parser of a type for a raw row. int8, numeric, date, time and interval have none:
 * they stay strings.
 *
 * @param type The type's object id.
 * @returns The parser, or `undefined` if the value is the text.
 */
export function rawReader(type: number): ValueReader | undefined {
  rawReaders ??= indexReaders((name) => READERS[name]);
  return rawReaders.get(type);
}

/**
 * Returns the parser of a type for a value that drizzle decodes. drizzle's columns take times as
 * text, and keep microseconds or create a `Date` by the column's mode.
 *
 * @param type The type's object id.
 * @returns The parser, or `undefined` if the value is the text.
 */
export function columnReader(type: number): ValueReader | undefined {
  columnReaders ??= indexReaders((name) => TIME_TYPES.has(name) ? undefined : READERS[name]);
  return columnReaders.get(type);
}

function indexReaders(getReader: (name: string) => ValueReader | undefined): ReadersById {
  const readers = new Map<number, ValueReader>();
  for (const [name, id, arrayId] of BUILT_IN_TYPES) {
    const reader = getReader(name);
    if (reader !== undefined) readers.set(id, reader);
    const readItem = reader ?? asText;
    const delimiter = name === "box" ? ";" : ",";
    readers.set(arrayId, (text) => parseArray(text, readItem, delimiter));
  }
  return readers;
}

function asText(text: string): string {
  return text;
}

/** Parses the formats `hex` and `escape` of `bytea_output`. */
function readBytes(text: string): Uint8Array {
  const { Buffer } = builtinModule("node:buffer")!;
  if (text.startsWith("\\x")) return Buffer.from(text.slice(2), "hex");
  const codes = text.replace(
    /\\(?:\\|([0-3][0-7]{2}))/g,
    (_, octal) => octal === undefined ? "\\" : String.fromCharCode(parseInt(octal, 8)),
  );
  return Buffer.from(codes, "latin1");
}

function readPoint(text: string): { x: number; y: number } {
  const [x, y] = text.slice(1, -1).split(",");
  return { x: Number(x), y: Number(y) };
}

function readCircle(text: string): { x: number; y: number; radius: number } {
  const [x, y, radius] = text.replace(/[<>()]/g, "").split(",");
  return { x: Number(x), y: Number(y), radius: Number(radius) };
}

/** PostgreSQL's ISO date style: `2026-01-31 12:00:00.123456+05:30`, `0044-03-15 00:00:00 BC`. */
const TIMESTAMP =
  /^(\d{4,6})-(\d\d-\d\d) (\d\d:\d\d:\d\d)(?:(\.\d{1,3})\d{0,3})?(?:([+-])(\d\d)(?::(\d\d)(?::(\d\d))?)?)?( BC)?$/;

/**
 * Parses a `timestamp` or `timestamptz`. Without a zone it is read as UTC, like in drizzle, so that
 * the result does not depend on the machine's time zone. Microseconds are truncated to
 * milliseconds.
 *
 * @param text PostgreSQL's text form.
 * @returns A `Date`; a number for `infinity` and `-infinity`; the text if a `Date` cannot represent
 * the value.
 */
export function readTimestamp(text: string): Date | number | string {
  const match = TIMESTAMP.exec(text);
  if (match === null) {
    if (text === "infinity") return Infinity;
    return text === "-infinity" ? -Infinity : text;
  }
  const [, year, day, time, ms = ".", sign, zoneHours, zoneMinutes = "00", zoneSeconds, bc] = match;
  const fullYear = bc === undefined ? Number(year) : 1 - Number(year);
  // ISO 8601 needs a sign and six digits outside of the years 0 to 9999
  const isoYear = fullYear >= 0 && fullYear <= 9999
    ? String(fullYear).padStart(4, "0")
    : `${fullYear < 0 ? "-" : "+"}${String(Math.abs(fullYear)).padStart(6, "0")}`;
  const zone = sign === undefined ? "Z" : `${sign}${zoneHours}:${zoneMinutes}`;
  const dateMs = Date.parse(`${isoYear}-${day}T${time}${ms.padEnd(4, "0")}${zone}`);
  if (Number.isNaN(dateMs)) return text;
  // ISO 8601 has no seconds in a zone, which local mean times have
  const restMs = Number(zoneSeconds ?? 0) * 1000;
  return new Date(sign === "-" ? dateMs + restMs : dateMs - restMs);
}
