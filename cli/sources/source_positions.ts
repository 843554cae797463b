import { SourceMap as Decoded } from "node:module";
import { dirname, resolve } from "node:path";
import { toPortablePath } from "../files/inside_folder.ts";

/** A place in a source file. */
export interface Place {
  /** Relative to the project. */
  readonly file: string;
  readonly line: number;
}

/** A position in the sources; lines and columns are 1-based. */
export interface SourcePosition extends Place {
  readonly column: number;
}

/** A source map of esbuild. */
export class SourceMap {
  readonly #json: string;
  readonly #folder: string;
  readonly #root: string;
  /** Decoded when the first position is asked for: most builds have nothing to report. */
  #decoded: Decoded | undefined;

  /**
   * @param json The source map.
   * @param folder The absolute path that its sources are relative to.
   * @param root The project folder.
   */
  constructor(json: string, folder: string, root: string) {
    this.#json = json;
    this.#folder = folder;
    this.#root = root;
  }

  /**
   * Returns the position in the sources of a position in the code.
   *
   * @param line From 0.
   * @param column From 0.
   */
  find(line: number, column: number): SourcePosition | undefined {
    this.#decoded ??= new Decoded(JSON.parse(this.#json));
    const entry = this.#decoded.findEntry(line, column);
    if (!("originalSource" in entry) || entry.originalSource === undefined) return undefined;
    return {
      file: toPortablePath(this.#root, resolve(this.#folder, decodeURI(entry.originalSource))),
      line: entry.originalLine + 1,
      column: entry.originalColumn + 1,
    };
  }
}

/** Returns the position in the sources of an offset in generated code. */
export type FindPosition = (offset: number) => SourcePosition | undefined;

/**
 * Creates the search for positions with a source map of esbuild.
 *
 * @param code The generated code.
 * @param map Its source map.
 * @param outfile The absolute path that the sources of the map are relative to.
 * @param root The project folder.
 */
export function createPositions(
  code: string,
  map: string,
  outfile: string,
  root: string,
): FindPosition {
  const sourceMap = new SourceMap(map, dirname(outfile), root);
  return (offset) => {
    const before = code.slice(0, offset).split("\n");
    return sourceMap.find(before.length - 1, before.at(-1)!.length);
  };
}
