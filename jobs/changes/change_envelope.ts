import { decodeText, misfit } from "../../core/triggers/parse_input.ts";
import { parseExactJson } from "./exact_json.ts";

/** Operations of a change. */
export type ChangeOperation = "insert" | "update" | "delete";

/** Values of a row by column, as JSON. */
export type RawRow = Readonly<Record<string, unknown>>;

/** What a record says about a changed row. */
export interface ChangeHead {
  /** What happened to the row. */
  readonly operation: ChangeOperation;
  /** Schema of the table. */
  readonly schema: string;
  /** Name of the table. */
  readonly table: string;
  /** Time of the COMMIT, in nanoseconds since 1970. */
  readonly commitNs: bigint;
  /** Transaction; its changes have the same id. */
  readonly transactionId: string;
}

/** Record with a whole change. */
export interface FullChange extends ChangeHead {
  readonly type: "full";
  /** The primary key of a deleted row. */
  readonly before: RawRow | null;
  /** The row after the change. */
  readonly after: RawRow | null;
}

/** Record whose row is in fragments. */
export interface ChunkedChange extends ChangeHead {
  readonly type: "chunked";
  /** Identifies the fragments. */
  readonly chunkId: string;
  /** Number of fragments. */
  readonly fragments: number;
  /** CRC32C of the row's JSON. */
  readonly checksum: number;
}

/** Part of a row's JSON. It does not name its table. */
export interface ChangeFragment {
  readonly type: "fragment";
  /** Identifies the row. */
  readonly chunkId: string;
  /** Position from 0. */
  readonly index: number;
  /** The text. */
  readonly data: string;
}

/** Content of a record of the change stream. */
export type ChangeEnvelope = FullChange | ChunkedChange | ChangeFragment;

type Fields = Readonly<Record<string, unknown>>;

const OPERATIONS: Readonly<Record<string, ChangeOperation>> = {
  c: "insert",
  u: "update",
  d: "delete",
};

/** Fragments of a row: far more than a row of the provider can have. */
const MAX_FRAGMENTS = 1000;

/**
 * Reads a record of Aurora DSQL's change stream. Source: Aurora DSQL user guide, "Understanding CDC
 * records" and "Change data capture streams" (general availability, 2026-07).
 *
 * @param data The record's content in base64.
 * @throws {ValidationError} If it is not in the documented format; the message names what is wrong.
 */
export function readChangeEnvelope(data: string): ChangeEnvelope {
  const record = readFields(parseExactJson(decodeText(data)), "The record");
  switch (record.type) {
    case "full":
      return readFull(record);
    case "chunked":
      return readChunked(record);
    case "fragment":
      return readFragment(record);
    default:
      throw misfit(`The record has the type ${quote(record.type)}: full, chunked or fragment`);
  }
}

function readFull(record: Fields): FullChange {
  const head = readHead(record);
  const image = head.operation === "delete" ? "before" : "after";
  return {
    type: "full",
    ...head,
    before: image === "before" ? readFields(record.before, "before") : null,
    after: image === "after" ? readFields(record.after, "after") : null,
  };
}

/** Reads a split row. Only `after` can be split: the key of a deleted row has at most 1 KiB. */
function readChunked(record: Fields): ChunkedChange {
  const head = readHead(record);
  const { after, before } = readFields(record.chunked, "chunked");
  if (before !== undefined || head.operation === "delete") {
    throw misfit(`A deletion from ${head.table} was split, which its key is too small for`);
  }
  const { chunk_id: chunkId, total_fragments, crc32c } = readFields(after, "chunked.after");
  return {
    type: "chunked",
    ...head,
    chunkId: readText(chunkId, "chunked.after.chunk_id"),
    fragments: readInteger(total_fragments, "chunked.after.total_fragments", [1, MAX_FRAGMENTS]),
    checksum: readInteger(crc32c, "chunked.after.crc32c", [0, 2 ** 32 - 1]),
  };
}

function readFragment({ chunk_id: chunkId, index, data }: Fields): ChangeFragment {
  if (typeof data !== "string") throw misfit("data of a fragment is missing");
  return {
    type: "fragment",
    chunkId: readText(chunkId, "chunk_id"),
    index: readInteger(index, "index", [0, MAX_FRAGMENTS - 1]),
    data,
  };
}

function readHead({ op, source }: Fields): ChangeHead {
  const { version, schema, table, ts_ns, txId } = readFields(source, "source");
  if (!String(version).startsWith("1.")) {
    throw misfit(`source.version is ${quote(version)}: this version reads 1.0`);
  }
  const operation = Object.hasOwn(OPERATIONS, String(op)) ? OPERATIONS[String(op)] : undefined;
  const name = readText(table, "source.table");
  if (operation === undefined) {
    throw misfit(`A change of ${name} has the operation ${quote(op)}: c, u or d`);
  }
  return {
    operation,
    schema: readText(schema, "source.schema"),
    table: name,
    commitNs: readNanoseconds(ts_ns),
    transactionId: readText(txId, "source.txId"),
  };
}

function readNanoseconds(value: unknown): bigint {
  const text = String(value);
  if (!/^\d{1,19}$/.test(text)) throw misfit("source.ts_ns is not a time in nanoseconds");
  return BigInt(text);
}

function readFields(value: unknown, name: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw misfit(`${name} is not an object`);
  }
  return value as Fields;
}

function readText(value: unknown, name: string): string {
  if (typeof value !== "string" || value === "") throw misfit(`${name} is missing`);
  return value;
}

function readInteger(value: unknown, name: string, [min, max]: [number, number]): number {
  const number = value === "" ? NaN : Number(value);
  if (Number.isInteger(number) && number >= min && number <= max) return number;
  throw misfit(`${name} is not a number from ${min} to ${max}`);
}

/** Returns a short name from the record, for a message. */
function quote(value: unknown): string {
  return typeof value === "string" ? value.slice(0, 40) : typeof value;
}
