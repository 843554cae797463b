import type { Metafile, Plugin } from "esbuild";
import { join } from "node:path";
import { toPortablePath } from "../inside_folder.ts";
import type { Build } from "./bundle_batch.ts";
import { removesNames } from "./library_names.ts";
import type { BundledFile } from "./part_use.ts";
import { getSizes } from "./sizes.ts";

/**
 * Bundles the second files of functions, CommonJS modules that are loaded on demand.
 *
 * @param file The name of the files.
 * @param entries The entry points by function.
 * @param plugins Plugins that load modules, before those that resolve imports.
 * @returns The files by function.
 */
export async function bundleSecondFiles(
  { esbuild, root, settings, common, paths, createResolvers }: Build,
  file: string,
  entries: ReadonlyMap<string, string>,
  plugins: readonly Plugin[],
): Promise<Map<string, BundledFile>> {
  if (entries.size === 0) return new Map();
  const { metafile, outputFiles } = await esbuild.build({
    ...common,
    sourcemap: common.sourcemap || removesNames(settings) && "external",
    entryPoints: Object.fromEntries(
      [...entries].map(([name, entry]) => [`${name}/${file.replace(".cjs", "")}`, entry]),
    ),
    outExtension: { ".js": ".cjs" },
    format: "cjs",
    plugins: [...plugins, ...createResolvers()],
  }) as { metafile: Metafile; outputFiles: { path: string; text: string }[] };
  const texts = new Map(outputFiles.map(({ path, text }) => [path, text]));
  return new Map([...entries.keys()].map((name) => {
    const path = join(common.outdir, name, file);
    const modules = getSizes(metafile.outputs[toPortablePath(root, path)], root, paths);
    return [name, { code: texts.get(path)!, map: texts.get(`${path}.map`), modules }];
  }));
}
