const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** A place in a source file. */
export interface Place {
  /** Relative to the project. */
  readonly file: string;
  readonly line: number;
}

/** A segment of a source map: column of the code, index of the source, line of the source from 0. */
type Segment = readonly [column: number, source: number, line: number];

/** Finds the sources of code. */
export class SourceMap {
  readonly #lines: Segment[][];
  readonly #sources: readonly string[];

  /**
   * @param json The source map.
   * @param toPath Returns the path of a source in it.
   */
  constructor(json: string, toPath: (source: string) => string) {
    const { sources, mappings } = JSON.parse(json) as { sources: string[]; mappings: string };
    this.#sources = sources.map(toPath);
    this.#lines = decode(mappings);
  }

  /**
   * Returns the place of a position in the code.
   *
   * @param line From 0.
   * @param column From 0.
   */
  find(line: number, column: number): Place | undefined {
    for (let at = Math.min(line, this.#lines.length - 1); at >= 0; at--) {
      const segments = this.#lines[at];
      const found = at === line
        ? segments.findLast((segment) => segment[0] <= column) ?? segments[0]
        : segments.at(-1);
      if (found !== undefined) return { file: this.#sources[found[1]], line: found[2] + 1 };
    }
    return undefined;
  }
}

function decode(mappings: string): Segment[][] {
  let source = 0;
  let sourceLine = 0;
  return mappings.split(";").map((line) => {
    let column = 0;
    return line.split(",").flatMap((text): Segment[] => {
      const [columns, sources, lines] = readNumbers(text);
      if (columns === undefined) return [];
      column += columns;
      if (sources === undefined) return [];
      source += sources;
      sourceLine += lines;
      return [[column, source, sourceLine]];
    });
  });
}

/** Reads variable-length numbers, the lowest digits first (ECMA-426). */
function readNumbers(text: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const character of text) {
    const digit = DIGITS.indexOf(character);
    value += (digit & 31) * 2 ** shift;
    shift += 5;
    if ((digit & 32) !== 0) continue;
    numbers.push(value % 2 === 1 ? -(value - 1) / 2 : value / 2);
    value = 0;
    shift = 0;
  }
  return numbers;
}
