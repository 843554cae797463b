import type { Plugin } from "esbuild";

/** Modules of Node's that cost milliseconds to load; http alone costs 40 ms from Node 22 on. */
const COSTLY = [
  "child_process",
  "crypto",
  "dns",
  "http",
  "http2",
  "https",
  "net",
  "stream",
  "tls",
  "zlib",
];

const NAMESPACE = "builtin";

/**
 * Loads Node's costly modules when the code that uses them first runs. In one file all imports stand at the top, so that
 * those of a driver that is loaded on demand would be loaded by every start.
 *
 * @returns The plugin.
 */
export function lazyBuiltinsPlugin(): Plugin {
  return {
    name: "lazy builtins",
    setup(build): void {
      build.onResolve(
        { filter: new RegExp(`^(?:node:)?(?:${COSTLY.join("|")})(?:/|$)`) },
        ({ path, kind }) =>
          kind === "import-statement"
            ? {
              path: `node:${path.replace(/^node:/, "")}`,
              namespace: NAMESPACE,
              sideEffects: false,
            }
            : undefined,
      );
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => ({
        contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
        loader: "js",
      }));
    },
  };
}
