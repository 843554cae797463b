import type { Plugin } from "esbuild";

const ENTRY = "trellis-entry:";

/**
 * Names files as entry points of esbuild, which would read `*` in a path as a pattern.
 *
 * @param files Absolute paths. The output of the file at position 0 is named `f0`.
 * @returns The option `entryPoints`, and a plugin that finds the files.
 */
export function nameEntryPoints(
  files: readonly string[],
): { readonly entryPoints: Record<string, string>; readonly plugin: Plugin } {
  return {
    entryPoints: Object.fromEntries(files.map((_, at) => [`f${at}`, `${ENTRY}${at}`])),
    plugin: {
      name: "trellis-entry-points",
      setup: ({ onResolve }) =>
        onResolve({ filter: new RegExp(`^${ENTRY}`) }, ({ path }) => ({
          path: files[Number(path.slice(ENTRY.length))],
        })),
    },
  };
}
