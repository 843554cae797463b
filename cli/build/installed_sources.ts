import type { Plugin } from "esbuild";
import { readFile } from "node:fs/promises";

/**
 * Creates a plugin that ignores the source maps of drizzle. They name sources that are not installed,
 * and hide to which package a position belongs.
 */
export function installedSourcesPlugin(): Plugin {
  return {
    name: "installed sources",
    setup(build): void {
      const filter = /[/\\]drizzle-orm[/\\]/;
      build.onLoad({ filter, namespace: "file" }, async ({ path }) => {
        if (!path.endsWith(".js")) return undefined;
        const text = await readFile(path, "utf8");
        const contents = text.replace(/\n\/\/# sourceMappingURL=\S+\s*$/, "\n");
        return { contents, loader: "js" };
      });
    },
  };
}
