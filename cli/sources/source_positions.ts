import { SourceMap } from "node:module";
import { dirname, resolve } from "node:path";
import { toPortablePath } from "../files/inside_folder.ts";

/** A position in the sources; lines and columns are 1-based. */
export interface SourcePosition {
  /** The file, relative to the project. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
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
  // decoded when the first position is asked for: most builds have nothing to report
  let sourceMap: SourceMap | undefined;
  return (offset) => {
    sourceMap ??= new SourceMap(JSON.parse(map));
    const before = code.slice(0, offset).split("\n");
    const entry = sourceMap.findEntry(before.length - 1, before.at(-1)!.length);
    if (!("originalSource" in entry) || entry.originalSource === undefined) return undefined;
    return {
      file: toPortablePath(root, resolve(dirname(outfile), entry.originalSource)),
      line: entry.originalLine + 1,
      column: entry.originalColumn + 1,
    };
  };
}
