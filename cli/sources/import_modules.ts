import type { BuildOptions, BuildResult } from "esbuild";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { toBuildError, toLoadError } from "./build_error.ts";
import { importFile } from "../discovery/import_file.ts";
import { loadEsbuild } from "./load_esbuild.ts";
import { LOCAL_BUILD, localResolver } from "./local_bundle.ts";
import { withTemporaryFolder } from "./temporary_folder.ts";

/** Modules of a project that are loaded into this process. */
export interface ProjectModules {
  /** Absolute path of the project. */
  readonly root: string;
  /** The modules in messages. */
  readonly name: string;
  /** Code that imports the modules and exports what is needed, and the folder that its imports start at. */
  readonly source: NonNullable<BuildOptions["stdin"]>;
  /** The command that needs esbuild. */
  readonly command: string;
  /** Other options, whose plugins come before the one that resolves imports. */
  readonly options?: Pick<BuildOptions, "define" | "plugins">;
}

/**
 * Bundles modules of a project. Packages stay external.
 *
 * @throws {BuildError} If a module cannot be built.
 * @throws {ConfigurationError} If esbuild is not installed.
 */
export async function bundleModules(
  { root, name, source, command, options = {} }: ProjectModules,
): Promise<string> {
  const { build } = await loadEsbuild(command);
  const result: BuildResult<{ write: false }> = await build({
    stdin: { loader: "ts", ...source },
    // as deep as the temporary file, which the places of the source map are relative to
    outfile: join(root, ".trellis", "modules", "bundle.mjs"),
    absWorkingDir: root,
    ...LOCAL_BUILD,
    sourcemap: "inline",
    sourcesContent: false,
    ...options,
    plugins: [...options.plugins ?? [], localResolver(root, new Map())],
  }).catch((error) => {
    throw toBuildError(name, error);
  });
  return result.outputFiles[0].text;
}

/**
 * Imports a bundle of {@link bundleModules} into this process, from a file in the folder `.trellis` of the project, so
 * that its packages are found.
 *
 * @throws {BuildError} If a module throws. The message has the file and the line of the sources, if they are known.
 */
export async function importModules<Exports>(
  { root, name }: Pick<ProjectModules, "root" | "name">,
  code: string,
): Promise<Exports> {
  const wasMapped = process.sourceMapsEnabled;
  // errors name lines of the sources
  process.setSourceMapsEnabled?.(true);
  try {
    return await withTemporaryFolder(root, "modules", async (folder) => {
      const file = join(folder, "bundle.mjs");
      writeFileSync(file, code);
      return await importFile<Exports>(file);
    });
  } catch (error) {
    throw toLoadError(name, error, root);
  } finally {
    process.setSourceMapsEnabled?.(wasMapped ?? false);
  }
}
