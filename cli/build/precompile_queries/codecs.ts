import { isDeepStrictEqual } from "node:util";
import * as codecs from "../../../database/queries/column_codecs.ts";
import {
  getDecoder,
  isColumn,
  type SelectedField,
  withSafeDecoder,
} from "../../../database/session/column_decoder.ts";

type Codec = (value: unknown) => unknown;

/** A decoder or an encoder with its code; values are kept if there is none. */
export type CodecSource = { readonly code: string; readonly run: Codec } | undefined;

/** The reason why a statement cannot be compiled. */
export class NotCompiled extends Error {}

/** The parts of drizzle that distinguish known columns from others. */
export interface DrizzleModules {
  readonly core: typeof import("drizzle-orm");
  readonly pg: typeof import("drizzle-orm/pg-core");
}

/** A column with the members that drizzle's types omit. */
interface AnyColumn {
  readonly columnType: string;
  readonly withTimezone?: boolean;
  readonly baseColumn?: AnyColumn;
  readonly mapFromDriverValue: Codec;
  readonly mapToDriverValue: Codec;
}

type CodecName =
  | Exclude<keyof typeof codecs, "decodeArray" | "encodeArray" | "encodeNested">
  | "keep";

const NUMBERS = ["0", "-17", "9007199254740991"];
const DATES = ["2024-02-29 12:34:56.789+00", "1969-12-31 23:59:59+05:30"];

/** Decoders by the type of column, and values to compare them with. */
const DECODERS: Readonly<Record<string, readonly [CodecName, readonly unknown[]]>> = {
  PgInteger: ["decodeInteger", [...NUMBERS, 4]],
  PgSmallInt: ["decodeSmallInteger", ["0", "-17", 4]],
  PgReal: ["decodeFloat", ["1.5", "-0", "NaN", "Infinity", 2.5]],
  PgDoublePrecision: ["decodeFloat", ["1.5", "-0", "NaN", "Infinity", 2.5]],
  PgBigInt53: ["decodeNumber", [...NUMBERS, 4]],
  PgBigSerial53: ["decodeNumber", [...NUMBERS, 4]],
  PgNumericNumber: ["decodeNumber", ["1.50", "NaN", 4]],
  PgBigInt64: ["decodeBigInt", [...NUMBERS, "-9223372036854775808"]],
  PgBigSerial64: ["decodeBigInt", NUMBERS],
  PgNumericBigInt: ["decodeBigInt", ["123456789012345678901234567890"]],
  PgNumeric: ["decodeString", ["1.50", "NaN", 4]],
  PgDate: ["decodeDate", ["2024-02-29", "0044-03-15"]],
  PgTimestampString: ["keep", DATES],
  PgDateString: ["keep", ["2024-02-29", "0044-03-15 BC"]],
  PgJson: ["keep", ["null", 1, { a: [null] }]],
  PgJsonb: ["keep", ["null", 1, { a: [null] }]],
};

/** Encoders by the type of column, and values to compare them with. */
const ENCODERS: Readonly<Record<string, readonly [CodecName, readonly unknown[]]>> = {
  PgTimestamp: ["encodeDate", [new Date(0), new Date(-1), new Date(8.64e15)]],
  PgDate: ["encodeDate", [new Date(0), new Date(-1)]],
  PgJson: ["encodeJson", ["null", 1, { a: [null] }, [true]]],
  PgJsonb: ["encodeJson", ["null", 1, { a: [null] }, [true]]],
  PgNumericNumber: ["encodeString", [1.5, -0, NaN]],
  PgNumericBigInt: ["encodeString", [12345678901234567890n]],
};

/** Items of arrays whose encoder keeps them. */
const KEPT_ITEMS = ['a "quoted" \\ text', "", "NULL", 1, true];

/** Finds the decoders and encoders of drizzle's columns. */
export class Codecs {
  readonly #drizzle: DrizzleModules;

  /** @param drizzle The project's drizzle. */
  constructor(drizzle: DrizzleModules) {
    this.#drizzle = drizzle;
  }

  /** Returns the decoder of a selected field. */
  getDecoder(selected: SelectedField): CodecSource {
    const decoder = getDecoder(withSafeDecoder(selected));
    if (isColumn(decoder)) return this.#getColumnDecoder(decoder as unknown as AnyColumn);
    const { mapFromDriverValue } = decoder;
    if (mapFromDriverValue === this.#drizzle.core.noopDecoder.mapFromDriverValue) return undefined;
    for (const known of [Number, String, BigInt] as const) {
      if (mapFromDriverValue as unknown === known) return { code: known.name, run: known as Codec };
    }
    throw new NotCompiled("an expression has a decoder of its own");
  }

  #getColumnDecoder(column: AnyColumn): CodecSource {
    const { columnType, baseColumn } = column;
    if (baseColumn !== undefined && columnType === "PgArray") {
      const item = this.#getColumnDecoder(getDecoder(
        withSafeDecoder(baseColumn as unknown as SelectedField),
      ) as AnyColumn);
      const code = item === undefined ? "" : item.code;
      return { code: `decodeArray(${code})`, run: codecs.decodeArray(item?.run) };
    }
    const { mapFromDriverValue } = this.#drizzle.pg.PgColumn.prototype;
    if (column.mapFromDriverValue === mapFromDriverValue) return undefined;
    if (columnType === "PgTimestamp") {
      const [name, samples] = column.withTimezone
        ? ["decodeDate", DATES] as const
        : ["decodeUtcDate", ["2024-02-29 12:34:56.789"]] as const;
      return choose(column, name, samples, (value) => column.mapFromDriverValue(value));
    }
    const known = DECODERS[columnType];
    if (known === undefined) throw new NotCompiled(`columns of type ${columnType} are decoded`);
    return choose(column, ...known, (value) => column.mapFromDriverValue(value));
  }

  /** Returns the encoder of a placeholder that is bound to a column. */
  getEncoder(encoder: unknown): CodecSource {
    const { core, pg } = this.#drizzle;
    const column = encoder as AnyColumn;
    const { mapToDriverValue, columnType, baseColumn } = column;
    if (
      mapToDriverValue === pg.PgColumn.prototype.mapToDriverValue ||
      mapToDriverValue === core.noopEncoder.mapToDriverValue
    ) return undefined;
    if (columnType === "PgArray" && baseColumn !== undefined) {
      return this.#getArrayEncoder(column, baseColumn);
    }
    const known = ENCODERS[columnType];
    if (known === undefined) throw new NotCompiled(`values of type ${columnType} are encoded`);
    return choose(column, ...known, (value) => column.mapToDriverValue(value));
  }

  #getArrayEncoder(column: AnyColumn, base: AnyColumn): CodecSource {
    const item = this.#getItemEncoder(base);
    const samples = getSamples(base);
    return check(
      column,
      { code: `encodeArray(${item?.code ?? ""})`, run: codecs.encodeArray(item?.run) },
      [samples, []],
      (value) => column.mapToDriverValue(value),
    );
  }

  /** drizzle encodes an array in an array to a list, and only the outermost to a text. */
  #getItemEncoder(base: AnyColumn): CodecSource {
    if (base.columnType !== "PgArray" || base.baseColumn === undefined) {
      return this.getEncoder(base);
    }
    const item = this.#getItemEncoder(base.baseColumn);
    return {
      code: `encodeNested(${item?.code ?? ""})`,
      run: codecs.encodeNested(item?.run),
    };
  }
}

/** Returns values of a column for comparisons, with a null. */
function getSamples({ columnType, baseColumn }: AnyColumn): unknown[] {
  if (columnType === "PgArray" && baseColumn !== undefined) return [getSamples(baseColumn), null];
  return [...ENCODERS[columnType]?.[1] ?? KEPT_ITEMS, null];
}

function choose(
  column: AnyColumn,
  name: CodecName,
  samples: readonly unknown[],
  original: Codec,
): CodecSource {
  if (name !== "keep") return check(column, { code: name, run: codecs[name] }, samples, original);
  check(column, { code: "", run: (value) => value }, samples, original);
  return undefined;
}

/** Throws if a codec gives other values than the column of the installed drizzle. */
function check(
  { columnType }: AnyColumn,
  codec: NonNullable<CodecSource>,
  samples: readonly unknown[],
  original: Codec,
): CodecSource {
  if (samples.every((value) => isDeepStrictEqual(codec.run(value), original(value)))) return codec;
  throw new NotCompiled(`this version of drizzle-orm reads or writes ${columnType} otherwise`);
}
