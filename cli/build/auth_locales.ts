import type { Plugin } from "esbuild";
import { readFile } from "node:fs/promises";
import type { ModulePaths } from "./module_paths.ts";

/** The module of better-auth that looks a schema up by the type of a field. Source: better-auth 1.7.7. */
const READER = /[/\\]dist[/\\]db[/\\]to-zod\.mjs$/;
const LOOKUP = "z[field.type]()";
/** The types that it looks up: all others are handled before. */
const NAMED =
  "{ boolean: z.boolean, date: z.date, number: z.number, string: z.string }[field.type]()";

/**
 * Creates a plugin that leaves unused parts of zod out of functions with better-auth. One of its
 * modules looks a schema up by a computed name, so the bundler would keep all of zod: 300 KB, of
 * which 195 KB are messages in other languages. The lookup gets the names of its schemas instead; a
 * version of better-auth without it is bundled unchanged.
 */
export function authLocalesPlugin(paths: ModulePaths): Plugin {
  return {
    name: "zod for better-auth",
    setup(build): void {
      build.onLoad({ filter: READER }, async ({ path }) => {
        if (paths.getPackage(path) !== "better-auth") return undefined;
        const text = await readFile(path, "utf8");
        return { contents: text.replace(LOOKUP, NAMED), loader: "js" };
      });
    },
  };
}
