/**
 * Values of columns. drizzle 0.45 converts them in its columns. The columns of drizzle 1.0 only name a
 * codec, which belongs to the driver; these are the codecs of the drivers of this package.
 */
import { parseArray } from "./array_literal.ts";

/** The members of drizzle's columns that convert values. */
export interface CodedColumn {
  /** Name of the codec, such as `timestamp:string`; drizzle 0.45 has none. */
  readonly codec?: string | undefined;
  /** Number of dimensions of an array; 0 for other columns. */
  readonly dimensions?: number;
  /** Encodes a value that is not null. */
  mapToDriverValue(value: unknown): unknown;
  /** Decodes a value that is not null. */
  mapFromDriverValue(value: unknown): unknown;
}

type Convert = (value: unknown) => unknown;

/** Applies a function to texts; other values are those of drizzle's own drivers. */
function fromText(read: (text: string) => unknown): Convert {
  return (value) => typeof value === "string" ? read(value) : value;
}

const readDate: Convert = fromText((text) => new Date(text));
/** `{1,2,3}`, `[1,2,3]` and `(1,2)`. */
const readNumbers = (text: string): number[] => text.slice(1, -1).split(",").map(Number);
const readVector: Convert = fromText((text) => text.length === 2 ? [] : readNumbers(text));
const toBigInt: Convert = (value) => BigInt(value as string);

/** Decoders by codec; the values of other codecs are kept. */
const DECODERS: Readonly<Record<string, Convert>> = {
  "bigint": toBigInt,
  "bigint:number": Number,
  "bigint:string": String,
  "bigserial": toBigInt,
  "bigserial:number": Number,
  "numeric": String,
  "numeric:number": Number,
  "numeric:bigint": toBigInt,
  "date": readDate,
  // read as UTC, so that the result does not depend on the machine's time zone
  "timestamp": fromText((text) => new Date(`${text}+0000`)),
  "timestamptz": readDate,
  "point:tuple": (value) => {
    const { x, y } = value as { x: number; y: number };
    return [x, y];
  },
  "line": fromText((text) => {
    const [a, b, c] = readNumbers(text);
    return { a, b, c };
  }),
  "line:tuple": fromText(readNumbers),
  "vector": readVector,
  "halfvec": readVector,
};

/** Encoders by codec; the other values are formatted when they are sent. */
const ENCODERS: Readonly<Record<string, Convert>> = {
  json: (value) => JSON.stringify(value),
  jsonb: (value) => JSON.stringify(value),
};

/**
 * Applies a codec to the items of an array. An array of a user-defined type arrives as text.
 *
 * @param array The array, or its text.
 * @param convert The codec; not called for NULL. `undefined` keeps the items.
 * @param dimensions Number of dimensions: an item may be an array too.
 */
export function convertItems(
  array: unknown,
  convert: Convert | undefined,
  dimensions: number,
): unknown {
  const items = typeof array === "string" ? parseArray(array, (item) => item) : array;
  if (!Array.isArray(items) || (convert === undefined && items !== array)) return items;
  return items.map((item: unknown) => {
    if (item === null || convert === undefined) return item;
    return dimensions > 1 ? convertItems(item, convert, dimensions - 1) : convert(item);
  });
}

/** Codecs of numbers that drivers of this package read by the type of the column. */
const NUMBERS: ReadonlySet<string> = new Set(
  ["smallint", "int", "float4", "float8", "smallserial", "serial"],
);

/**
 * Decodes an array. The server names the type of an array's items, but not of a domain's.
 *
 * @param codec Codec of the items.
 * @param array The array, or its text.
 * @param dimensions Number of dimensions.
 */
export function decodeItems(codec: string, array: unknown, dimensions: number): unknown {
  const isText = typeof array === "string" && NUMBERS.has(codec);
  return convertItems(array, isText ? Number : DECODERS[codec], dimensions);
}

/** Returns the function that decodes what a driver of this package reads of a codec's type. */
export function getCodecDecoder(codec: string): Convert | undefined {
  return DECODERS[codec];
}

/** Returns the function that encodes a value of a codec's type for the drivers of this package. */
export function getCodecEncoder(codec: string): Convert | undefined {
  return ENCODERS[codec];
}

/** Decodes a value that is not null. */
export function decodeColumn(
  column: Omit<CodedColumn, "mapToDriverValue">,
  value: unknown,
): unknown {
  const { codec, dimensions = 0 } = column;
  if (codec !== undefined && dimensions > 0) {
    return column.mapFromDriverValue(decodeItems(codec, value, dimensions));
  }
  const decode = codec === undefined ? undefined : DECODERS[codec];
  return column.mapFromDriverValue(decode === undefined ? value : decode(value));
}

/** Encodes a value that is not null. */
export function encodeColumn(
  column: Omit<CodedColumn, "mapFromDriverValue">,
  value: unknown,
): unknown {
  const { codec, dimensions = 0 } = column;
  const encoded = column.mapToDriverValue(value);
  const encode = codec === undefined ? undefined : ENCODERS[codec];
  if (encode === undefined) return encoded;
  return dimensions > 0 ? convertItems(encoded, encode, dimensions) : encode(encoded);
}
