import { assertEquals, assertMatch } from "@std/assert";
import { join } from "node:path";
import * as esbuild from "esbuild";
import { SchemaLabels } from "../../../cli/build/precompile/label_schemas.ts";
import { createSourceReader } from "../../../cli/sources/edited_sources.ts";
import type { ModulePaths } from "../../../cli/sources/module_paths.ts";
import { withTempFolder } from "../../support/temp_folder.ts";

const FILES = {
  "a.ts": `import * as z from "zod"; export const A = z.object({}); export const B = z.string();`,
  "b.ts": `import * as z from "zod"; export const A = z.object({});`,
};

Deno.test("SchemaLabels labels equal sources alike, in whatever order esbuild loads them", async () => {
  await withTempFolder(FILES, async (root) => {
    const { read } = createSourceReader(esbuild, root);
    const paths = { getPackage: () => undefined } as unknown as ModulePaths;
    async function label(names: readonly string[]): Promise<Record<string, string>> {
      const editor = new SchemaLabels(paths).createLabelEditor();
      const modules = await Promise.all(names.map((name) => read(join(root, name))));
      return Object.fromEntries(
        modules.map((module, at) => [names[at], JSON.stringify(editor.edit(module))]),
      );
    }
    const first = await label(["a.ts", "b.ts"]);
    assertEquals(await label(["b.ts", "a.ts"]), first);
    const labels = [...Object.values(first).join().matchAll(/__trellisSchema\((\d+),/g)];
    assertEquals(new Set(labels.map(([, found]) => found)).size, 3);
    for (const [, found] of labels) assertMatch(found, /[13579]$/);
  });
  await esbuild.stop();
});
