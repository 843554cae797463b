const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUES = new Int8Array(128);
[...DIGITS].forEach((digit, value) => VALUES[digit.charCodeAt(0)] = value);

/** A segment of a source map: a position in the output and its position in a source. */
interface Segment {
  line: number;
  column: number;
  source: number;
  sourceLine: number;
  sourceColumn: number;
  name: number;
  /** 1: without a source; 4: without a name; 5: with both. */
  fields: number;
}

const createSegment = (): Segment => ({
  line: 0,
  column: 0,
  source: 0,
  sourceLine: 0,
  sourceColumn: 0,
  name: 0,
  fields: 0,
});

/** Five numbers of 32 bits, with a separator. */
const MAX_SEGMENT = 36;
const COMMA = 44;
const SEMICOLON = 59;

/** Reads `mappings` of a source map, one segment at a time. */
export class MappingReader {
  /** The current segment; the next call changes it. */
  readonly segment: Segment = createSegment();
  readonly #text: string;
  #at = 0;

  constructor(mappings: string) {
    this.#text = mappings;
  }

  /** Reads the next segment. Returns false at the end. */
  next(): boolean {
    const { segment } = this;
    for (;; this.#at++) {
      const char = this.#text.charCodeAt(this.#at);
      if (char === SEMICOLON) {
        segment.line++;
        segment.column = 0;
      } else if (char !== COMMA) break;
    }
    if (this.#at >= this.#text.length) return false;
    segment.fields = 1;
    segment.column += this.#readNumber();
    if (this.#isAtEnd()) return true;
    segment.fields = 4;
    segment.source += this.#readNumber();
    segment.sourceLine += this.#readNumber();
    segment.sourceColumn += this.#readNumber();
    if (this.#isAtEnd()) return true;
    segment.fields = 5;
    segment.name += this.#readNumber();
    return true;
  }

  #isAtEnd(): boolean {
    const char = this.#text.charCodeAt(this.#at);
    return char === COMMA || char === SEMICOLON || this.#at >= this.#text.length;
  }

  /** Reads a number in base64 VLQ: five bits for each digit, the sign in the lowest. */
  #readNumber(): number {
    let value = 0;
    for (let shift = 0;; shift += 5) {
      const digit = VALUES[this.#text.charCodeAt(this.#at++)];
      value |= (digit & 31) << shift;
      if (digit < 32) return value & 1 ? -(value >> 1) : value >> 1;
    }
  }
}

/** Writes `mappings` of a source map. */
class MappingWriter {
  readonly #last: Segment = createSegment();
  readonly #bytes: Uint8Array;
  #at = 0;
  #isFirst = true;

  constructor(maxLength: number) {
    this.#bytes = new Uint8Array(maxLength);
  }

  add(segment: Segment, column: number, fields: number): void {
    const last = this.#last;
    for (; last.line < segment.line; last.line++) {
      this.#bytes[this.#at++] = SEMICOLON;
      last.column = 0;
      this.#isFirst = true;
    }
    if (!this.#isFirst) this.#bytes[this.#at++] = COMMA;
    this.#isFirst = false;
    this.#write(column - last.column);
    last.column = column;
    if (fields === 1) return;
    this.#write(segment.source - last.source);
    this.#write(segment.sourceLine - last.sourceLine);
    this.#write(segment.sourceColumn - last.sourceColumn);
    last.source = segment.source;
    last.sourceLine = segment.sourceLine;
    last.sourceColumn = segment.sourceColumn;
    if (fields === 4) return;
    this.#write(segment.name - last.name);
    last.name = segment.name;
  }

  toString(): string {
    return new TextDecoder().decode(this.#bytes.subarray(0, this.#at));
  }

  #write(value: number): void {
    let rest = value < 0 ? (-value << 1) | 1 : value << 1;
    while (rest > 31) {
      this.#bytes[this.#at++] = DIGITS.charCodeAt(rest & 31 | 32);
      rest >>>= 5;
    }
    this.#bytes[this.#at++] = DIGITS.charCodeAt(rest);
  }
}

/** Columns of a line. */
export interface ColumnRange {
  /** 0 for the first line. */
  readonly line: number;
  readonly from: number;
  /** The column behind the last one. */
  readonly to: number;
}

/**
 * Adapts `mappings` to an output from which columns are removed. Everything else keeps its position
 * in the sources.
 *
 * @param ranges The removed columns, in order, neither overlapping nor adjacent.
 */
export function removeColumns(mappings: string, ranges: readonly ColumnRange[]): string {
  const reader = new MappingReader(mappings);
  // a range adds one segment at most, and changes the column of another and the name of a third
  const writer = new MappingWriter(mappings.length + ranges.length * 3 * MAX_SEGMENT);
  const { segment } = reader;
  let index = 0;
  let range: ColumnRange | undefined = ranges[0];
  /** Number of removed columns in the line. */
  let removed = 0;
  let line = 0;
  /** The last segment in the range, which applies to the text behind it too. */
  let dropped: Segment | undefined;

  function endRange({ line: endedLine, from, to }: ColumnRange, isMapped: boolean): void {
    if (endedLine !== line) removed = 0;
    line = endedLine;
    removed += to - from;
    if (dropped !== undefined && !isMapped) {
      writer.add(dropped, to - removed, Math.min(dropped.fields, 4));
    }
    dropped = undefined;
    range = ranges[++index];
  }

  while (reader.next()) {
    const { line: at, column } = segment;
    while (range !== undefined && (range.line < at || range.line === at && range.to <= column)) {
      endRange(range, range.line === at && range.to === column);
    }
    if (range?.line === at && range.from <= column) dropped = { ...segment };
    else writer.add(segment, at === line ? column - removed : column, segment.fields);
  }
  while (range !== undefined) endRange(range, false);
  return writer.toString();
}
