import * as core from "drizzle-orm/pg-core";
import { convertItems, decodeItems, getCodecDecoder, getCodecEncoder } from "./column_codec.ts";
import { isDrizzleOne } from "./drizzle_version.ts";

type Convert = (value: unknown) => unknown;
type ConvertArray = (array: unknown, dimensions: number) => unknown;
/** Casts a parameter to the type of its column. */
export type CastParameter = (parameter: string, column: unknown) => string;

/** A codec of drizzle 1.0. */
interface Codec {
  readonly normalize?: Convert;
  readonly normalizeArray?: ConvertArray;
  readonly normalizeInJson?: Convert;
  readonly normalizeArrayInJson?: ConvertArray;
  readonly normalizeParam?: Convert;
  readonly normalizeParamArray?: ConvertArray;
  readonly castParam?: CastParameter;
  readonly castArrayParam?: CastParameter;
}

type Codecs = Readonly<Record<string, Codec | undefined>>;

/** What 1.0 has and 0.45 has not. */
interface NewCore {
  readonly genericPgCodecs: Codecs;
  refineGenericPgCodecs(own: Codecs): object;
}

/** Codecs of drizzle's columns. The array of a user-defined type, such as a domain, arrives as text. */
const COLUMN_CODECS = (
  "smallint int bigint bigint:number bigint:string numeric numeric:number numeric:bigint float4 float8 " +
  "smallserial serial bigserial bigserial:number bool char varchar text bytea date date:string time timetz " +
  "timestamp timestamptz timestamp:string timestamptz:string interval uuid json jsonb enum inet cidr " +
  "macaddr macaddr8 money point point:tuple line line:tuple bit vector halfvec sparsevec"
).split(" ");

/**
 * Creates the codecs with which the columns of drizzle 1.0 convert the values of this package's drivers.
 * drizzle's own codecs decode NULL in the arrays of a relation as 0, or fail.
 *
 * @param cast Casts parameters.
 * @returns The codecs, or `undefined` with drizzle 0.45, whose columns convert values themselves.
 */
export function createCodecs(cast?: CastParameter): object | undefined {
  if (!isDrizzleOne) return undefined;
  // not destructured, because bundlers then keep the whole module
  const genericPgCodecs = (core as unknown as NewCore).genericPgCodecs;
  const names = [...COLUMN_CODECS, ...Object.keys(genericPgCodecs)];
  return (core as unknown as NewCore).refineGenericPgCodecs(
    Object.fromEntries(
      names.map((name) => [name, createCodec(name, genericPgCodecs[name] ?? {}, cast)]),
    ),
  );
}

function createCodec(
  name: string,
  { normalizeInJson }: Codec,
  cast: CastParameter | undefined,
): Codec {
  const decode = getCodecDecoder(name);
  const encode = getCodecEncoder(name);
  return {
    ...decode !== undefined && { normalize: decode },
    normalizeArray: (array, dimensions) => decodeItems(name, array, dimensions),
    normalizeArrayInJson: (array, dimensions) => convertItems(array, normalizeInJson, dimensions),
    ...encode !== undefined && {
      normalizeParam: encode,
      normalizeParamArray: (array, dimensions) => convertItems(array, encode, dimensions),
    },
    ...cast !== undefined && { castParam: cast, castArrayParam: cast },
  };
}
