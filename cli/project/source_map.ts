import { SourceMap as Decoded } from "node:module";

/** A place in a source file. */
export interface Place {
  /** Relative to the project. */
  readonly file: string;
  readonly line: number;
}

/** Finds the sources of code. */
export class SourceMap {
  readonly #map: Decoded;
  readonly #toPath: (source: string) => string;

  /**
   * @param json The source map.
   * @param toPath Returns the path of a source in it.
   */
  constructor(json: string, toPath: (source: string) => string) {
    this.#map = new Decoded(JSON.parse(json));
    this.#toPath = toPath;
  }

  /**
   * Returns the place of a position in the code.
   *
   * @param line From 0.
   * @param column From 0.
   */
  find(line: number, column: number): Place | undefined {
    const found = this.#map.findEntry(line, column);
    if (!("originalSource" in found) || found.originalSource === undefined) return undefined;
    return { file: this.#toPath(found.originalSource), line: found.originalLine + 1 };
  }
}
