import type { Plugin } from "esbuild";
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { ModulePaths } from "./module_paths.ts";

/** The module of better-auth that reads `z[field.type]`. Source: better-auth 1.7.7. */
const READER = /[/\\]dist[/\\]db[/\\]to-zod\.mjs$/;
/** Types of fields that are read this way. */
const FIELD_TYPES = ["boolean", "date", "number", "string"];

const NAMESPACE = "zod for better-auth";
/** Marks the call that finds zod itself. */
const FOUND = { isFound: true };

/**
 * Creates a plugin that leaves unused parts of zod out of functions with better-auth. One of its
 * modules looks a schema up by a computed name, so the bundler would keep all of zod: 300 KB, of
 * which 195 KB are messages in other languages.
 *
 * @param paths Maps modules to packages.
 * @returns The plugin; it must precede resolving plugins.
 */
export function authLocalesPlugin(paths: ModulePaths): Plugin {
  return {
    name: "zod for better-auth",
    setup(build): void {
      const exported = new Map<string, readonly string[]>();
      build.onResolve({ filter: /^zod$/ }, async ({ path, importer, pluginData, ...args }) => {
        const isReader = READER.test(importer) && paths.getPackage(importer) === "better-auth";
        if (!isReader || pluginData === FOUND) return undefined;
        const names = readNames(readFileSync(importer, "utf8"));
        const zod = await build.resolve(path, { ...args, importer, pluginData: FOUND });
        const isFile = zod.errors.length === 0 && !zod.external && zod.namespace === "file";
        if (names === undefined || !isFile) return undefined;
        exported.set(zod.path, names);
        return { path: zod.path, namespace: NAMESPACE };
      });
      build.onLoad({ filter: /.*/, namespace: NAMESPACE }, ({ path }) => ({
        contents: `export { ${exported.get(path)!.join(", ")} } from ${JSON.stringify(path)};`,
        loader: "js",
        resolveDir: dirname(path),
      }));
    },
  };
}

/** Returns the members of zod that a text reads, or `undefined` if it computes others. */
function readNames(text: string): string[] | undefined {
  const computed = text.match(/\bz(?![\w.])[^;]{0,15}/g) ?? [];
  const isKnown = computed.every((use) => /^z(?:\[field\.type\]\(| from "zod")/.test(use));
  const named = [...text.matchAll(/\bz\.(\w+)/g)].map(([, name]) => name);
  return isKnown ? [...new Set([...FIELD_TYPES, ...named])] : undefined;
}
