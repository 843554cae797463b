import { builtinModule } from "../../env/builtin_module.ts";
import { parseArray } from "./array_literal.ts";
import { readTimestamp } from "./read_timestamp.ts";
import { getBuiltInTypes } from "./type_ids.ts";

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

/** Parsers by the ids of types that were asked for. */
type ReadersById = Map<number, ValueReader | undefined>;
const rawReaders: ReadersById = new Map();
const columnReaders: ReadersById = new Map();

/**
 * Returns the parser of a type for a raw row. int8, numeric, date, time and interval have none:
 * they stay strings.
 *
 * @param type The type's object id.
 * @returns The parser, or `undefined` if the value is the text.
 */
export function rawReader(type: number): ValueReader | undefined {
  return getOrCreate(rawReaders, type, (name) => READERS[name]);
}

/**
 * Returns the parser of a type for a value that drizzle decodes. drizzle's columns take times as
 * text, and keep microseconds or create a `Date` by the column's mode.
 *
 * @param type The type's object id.
 * @returns The parser, or `undefined` if the value is the text.
 */
export function columnReader(type: number): ValueReader | undefined {
  return getOrCreate(
    columnReaders,
    type,
    (name) => TIME_TYPES.has(name) ? undefined : READERS[name],
  );
}

type FindReader = (name: string) => ValueReader | undefined;

function getOrCreate(
  readers: ReadersById,
  type: number,
  findReader: FindReader,
): ValueReader | undefined {
  const known = readers.get(type);
  if (known !== undefined || readers.has(type)) return known;
  const reader = createReader(type, findReader);
  readers.set(type, reader);
  return reader;
}

function createReader(type: number, findReader: FindReader): ValueReader | undefined {
  const found = getBuiltInTypes().find(([, id, arrayId]) => id === type || arrayId === type);
  if (found === undefined) return undefined;
  const [name, id] = found;
  const reader = findReader(name);
  if (id === type) return reader;
  const readItem = reader ?? asText;
  const delimiter = name === "box" ? ";" : ",";
  return (text) => parseArray(text, readItem, delimiter);
}

function asText(text: string): string {
  return text;
}

/**
 * Parses the formats `hex` and `escape` of `bytea_output`, into a `Buffer` if the runtime has one.
 */
function readBytes(text: string): Uint8Array {
  const Buffer = builtinModule("node:buffer")?.Buffer;
  const isHex = text.startsWith("\\x");
  if (Buffer === undefined) return isHex ? fromHex(text.slice(2)) : fromEscapes(text);
  return isHex ? Buffer.from(text.slice(2), "hex") : Buffer.from(fromEscapes(text));
}

function fromHex(hex: string): Uint8Array {
  const bytes = new Uint8Array(hex.length / 2);
  for (let at = 0; at < bytes.length; at++) bytes[at] = parseInt(hex.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}

function fromEscapes(text: string): Uint8Array {
  const codes = text.replace(
    /\\(?:\\|([0-3][0-7]{2}))/g,
    (_, octal) => octal === undefined ? "\\" : String.fromCharCode(parseInt(octal, 8)),
  );
  return Uint8Array.from(codes, (char) => char.charCodeAt(0));
}

function readPoint(text: string): { x: number; y: number } {
  const [x, y] = text.slice(1, -1).split(",");
  return { x: Number(x), y: Number(y) };
}

function readCircle(text: string): { x: number; y: number; radius: number } {
  const [x, y, radius] = text.replace(/[<>()]/g, "").split(",");
  return { x: Number(x), y: Number(y), radius: Number(radius) };
}
