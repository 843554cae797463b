import type { PluginBuild } from "esbuild";

/**
 * Loads the modules of a namespace, which are in no file.
 *
 * @param render Returns the code of a module.
 */
export function loadGenerated(
  build: PluginBuild,
  namespace: string,
  render: (path: string) => string | undefined,
): void {
  build.onLoad({ filter: /.*/, namespace }, ({ path }) => ({
    contents: render(path),
    loader: "js",
  }));
}
