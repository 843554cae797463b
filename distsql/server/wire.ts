/**
 * Message of the PostgreSQL protocol, version 3: its type byte and its payload without the length.
 */
export interface WireMessage {
  /** Type as a character, for example `Q`; an empty string for the untyped first packets. */
  readonly type: string;
  readonly payload: Uint8Array;
}

/** Fields of an ErrorResponse that this server sets. */
export interface WireError {
  readonly sqlstate: string;
  readonly message: string;
  /** @default "ERROR" */
  readonly severity?: "ERROR" | "FATAL";
  readonly detail?: string;
  readonly hint?: string;
  /** Character position in the statement, from 1. */
  readonly position?: number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Joins byte arrays. */
export function concatBytes(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

/** Encodes a zero-terminated string. */
export function cString(text: string): Uint8Array {
  return encoder.encode(text + "\0");
}

/** Encodes a big-endian 32-bit integer. */
export function int32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setInt32(0, value);
  return bytes;
}

/** Encodes a big-endian 16-bit integer. */
export function int16(value: number): Uint8Array {
  const bytes = new Uint8Array(2);
  new DataView(bytes.buffer).setInt16(0, value);
  return bytes;
}

/** Adds type and length to a payload. */
export function frame(type: string, ...payload: Uint8Array[]): Uint8Array {
  const body = concatBytes(payload);
  return concatBytes([encoder.encode(type), int32(body.length + 4), body]);
}

/** Reader of numbers and strings in a payload. */
export class PayloadReader {
  #offset = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get remaining(): number {
    return this.#bytes.length - this.#offset;
  }

  int16(): number {
    this.#offset += 2;
    return this.#view.getInt16(this.#offset - 2);
  }

  int32(): number {
    this.#offset += 4;
    return this.#view.getInt32(this.#offset - 4);
  }

  char(): string {
    return String.fromCharCode(this.#bytes[this.#offset++]);
  }

  bytes(length: number): Uint8Array {
    this.#offset += length;
    return this.#bytes.subarray(this.#offset - length, this.#offset);
  }

  string(): string {
    const end = this.#bytes.indexOf(0, this.#offset);
    const text = decoder.decode(this.#bytes.subarray(this.#offset, end));
    this.#offset = end + 1;
    return text;
  }
}

/** Reader that splits a byte stream into messages. */
export class MessageReader {
  #buffered: Uint8Array = new Uint8Array(0);
  #typed: boolean;
  readonly #maxBytes: number;

  /**
   * @param typed False before the first, untyped packet of a connection; {@link expectTyped} makes
   * it true.
   * @param maxBytes Maximum length of a message; a longer one throws a RangeError.
   */
  constructor(typed: boolean, maxBytes: number = Number.POSITIVE_INFINITY) {
    this.#typed = typed;
    this.#maxBytes = maxBytes;
  }

  /** Expects a type byte in all following messages. */
  expectTyped(): void {
    this.#typed = true;
  }

  /** Adds received bytes. */
  push(chunk: Uint8Array): void {
    this.#buffered = this.#buffered.length === 0 ? chunk : concatBytes([this.#buffered, chunk]);
  }

  /**
   * @returns The next complete message, or undefined if more bytes are needed.
   */
  next(): WireMessage | undefined {
    const head = this.#typed ? 1 : 0;
    if (this.#buffered.length < head + 4) return undefined;
    const view = new DataView(this.#buffered.buffer, this.#buffered.byteOffset);
    const length = view.getInt32(head);
    if (length < 4 || length > this.#maxBytes) throw new RangeError(`a message of ${length} bytes`);
    if (this.#buffered.length < head + length) return undefined;
    const type = head ? String.fromCharCode(this.#buffered[0]) : "";
    const payload = this.#buffered.slice(head + 4, head + length);
    this.#buffered = this.#buffered.subarray(head + length);
    return { type, payload };
  }
}

/** Splits a complete answer into messages. */
export function readMessages(bytes: Uint8Array): WireMessage[] {
  const reader = new MessageReader(true);
  reader.push(bytes);
  const messages: WireMessage[] = [];
  for (let message = reader.next(); message; message = reader.next()) messages.push(message);
  return messages;
}

/** Creates an ErrorResponse. */
export function errorResponse(error: WireError): Uint8Array {
  const severity = error.severity ?? "ERROR";
  const fields = [`S${severity}`, `V${severity}`, `C${error.sqlstate}`, `M${error.message}`];
  if (error.detail) fields.push(`D${error.detail}`);
  if (error.hint) fields.push(`H${error.hint}`);
  if (error.position) fields.push(`P${error.position}`);
  return frame("E", ...fields.map(cString), new Uint8Array(1));
}

/** Parses the fields of an ErrorResponse or NoticeResponse by their letters. */
export function readErrorFields(payload: Uint8Array): Map<string, string> {
  const reader = new PayloadReader(payload);
  const fields = new Map<string, string>();
  for (let field = reader.char(); field !== "\0" && reader.remaining > 0; field = reader.char()) {
    fields.set(field, reader.string());
  }
  return fields;
}

/** Creates a RowDescription of text columns. */
export function textRowDescription(columns: readonly string[]): Uint8Array {
  // 25 is the OID of text; -1 means any length and no modifier
  const fields = columns.map((name) =>
    concatBytes([cString(name), int32(0), int16(0), int32(25), int16(-1), int32(-1), int16(0)])
  );
  return frame("T", int16(columns.length), ...fields);
}

/** Creates a DataRow of text values. */
export function textDataRow(values: readonly string[]): Uint8Array {
  const fields = values.map((value) => {
    const bytes = encoder.encode(value);
    return concatBytes([int32(bytes.length), bytes]);
  });
  return frame("D", int16(values.length), ...fields);
}

/** Creates a CommandComplete. */
export function commandComplete(tag: string): Uint8Array {
  return frame("C", cString(tag));
}

/** Creates a ReadyForQuery: `I` idle, `T` in a transaction, `E` in a failed one. */
export function readyForQuery(status: "I" | "T" | "E"): Uint8Array {
  return frame("Z", encoder.encode(status));
}

/** Parses a DataRow's values as text; null stays null. */
export function readTextRow(payload: Uint8Array): (string | null)[] {
  const reader = new PayloadReader(payload);
  return Array.from({ length: reader.int16() }, () => {
    const length = reader.int32();
    return length < 0 ? null : decoder.decode(reader.bytes(length));
  });
}
