import { concatBytes, cString, frame, int16, PayloadReader } from "./wire.ts";

/** Content of a Parse message. */
export interface ParseMessage {
  readonly name: string;
  readonly sql: string;
  /** Number and OIDs of the parameter types, unparsed. */
  readonly types: Uint8Array;
}

/** Content of a Bind message, with unparsed values. */
export interface BindMessage {
  readonly portal: string;
  readonly statement: string;
  /** Format codes, values and result formats, unparsed. */
  readonly rest: Uint8Array;
  /** Values as bytes; null is SQL's NULL. */
  readonly values: readonly (Uint8Array | null)[];
  readonly resultFormats: readonly number[];
}

/** Parses a Parse message. */
export function readParse(payload: Uint8Array): ParseMessage {
  const reader = new PayloadReader(payload);
  return { name: reader.string(), sql: reader.string(), types: reader.bytes(reader.remaining) };
}

/** Creates a Parse message. */
export function parseMessage(name: string, sql: string, types: Uint8Array): Uint8Array {
  return frame("P", cString(name), cString(sql), types);
}

/** Parses a Bind message. */
export function readBind(payload: Uint8Array): BindMessage {
  const reader = new PayloadReader(payload);
  const portal = reader.string();
  const statement = reader.string();
  const rest = payload.subarray(payload.length - reader.remaining);
  for (let formats = reader.int16(); formats > 0; formats--) reader.int16();
  const values = Array.from({ length: reader.int16() }, () => {
    const length = reader.int32();
    return length < 0 ? null : reader.bytes(length);
  });
  const resultFormats = Array.from({ length: reader.int16() }, () => reader.int16());
  return { portal, statement, rest, values, resultFormats };
}

/** Creates a Bind message. */
export function bindMessage(bind: BindMessage): Uint8Array {
  return frame("B", cString(bind.portal), cString(bind.statement), bind.rest);
}

/** Sets the format codes requested by a Bind in a RowDescription of the statement. */
export function withResultFormats(
  rowDescription: Uint8Array,
  formats: readonly number[],
): Uint8Array {
  const bytes = rowDescription.slice();
  const view = new DataView(bytes.buffer);
  const columns = view.getInt16(0);
  let offset = 2;
  for (let column = 0; column < columns; column++) {
    offset = bytes.indexOf(0, offset) + 1 + 18;
    const format = formats.length === 1 ? formats[0] : formats[column];
    view.setInt16(offset - 2, format ?? 0);
  }
  return bytes;
}

/** Creates a Describe of a prepared statement. */
export function describeStatement(name: string): Uint8Array {
  return frame("D", new TextEncoder().encode("S"), cString(name));
}

/** Creates a ParameterDescription without parameters. */
export function noParameters(): Uint8Array {
  return frame("t", int16(0));
}

/** Parses the type OIDs of a ParameterDescription. */
export function readParameterTypes(payload: Uint8Array): number[] {
  const reader = new PayloadReader(payload);
  return Array.from({ length: reader.int16() }, () => reader.int32());
}

/** Creates a simple Query. */
export function queryMessage(sql: string): Uint8Array {
  return frame("Q", concatBytes([cString(sql)]));
}
