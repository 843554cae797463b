import type { Plugin } from "esbuild";
import { loadGenerated } from "./generated_modules.ts";

/**
 * Built-in modules that take milliseconds to load; http alone takes 40 ms since Node.js 22. A static
 * import of util reads all its members, which loads worker_threads and parts of assert.
 */
const SLOW = [
  "child_process",
  "crypto",
  "dns",
  "http",
  "http2",
  "https",
  "net",
  "stream",
  "tls",
  "util",
  "zlib",
];

const NAMESPACE = "builtin";

/**
 * Creates a plugin that loads slow built-in modules when the code that uses them first runs. In a
 * bundle all static imports are at the top, so even the imports of an unused driver would be loaded
 * at every start.
 */
export function lazyBuiltinsPlugin(): Plugin {
  return {
    name: "lazy builtins",
    setup(build): void {
      build.onResolve(
        { filter: new RegExp(`^(?:node:)?(?:${SLOW.join("|")})(?:/|$)`) },
        ({ path, kind }) =>
          kind === "import-statement"
            ? {
              path: `node:${path.replace(/^node:/, "")}`,
              namespace: NAMESPACE,
              sideEffects: false,
            }
            : undefined,
      );
      loadGenerated(
        build,
        NAMESPACE,
        (path) => `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
      );
    },
  };
}
