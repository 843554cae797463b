import type { BuildResult, Plugin } from "esbuild";
import { readFileSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { loadEsbuild } from "../sources/load_esbuild.ts";
import { toBuildError, toLoadError } from "../sources/build_error.ts";
import { LOCAL_BUILD, localResolver } from "../sources/local_bundle.ts";
import { importBundle } from "../sources/import_bundle.ts";
import { resolveConfig, type ResolvedConfig } from "./config.ts";
import { CONFIG_NAMES, findConfigFile } from "../discovery/config_file.ts";

/**
 * Loads a project's configuration. Its modules run in this process, with its environment. Without a
 * file, the defaults apply.
 *
 * @param file The file given with `--config`, relative to the root.
 * @returns The validated configuration.
 * @throws {ConfigurationError} If the file is missing or invalid, cannot be parsed, or throws. The
 * message contains file and line, if they are known.
 */
export async function readConfig(root: string, file?: string): Promise<ResolvedConfig> {
  const path = findConfigFile(root, file);
  if (path === undefined) return resolveConfig({}, CONFIG_NAMES[0]);
  const name = relative(root, path) || path;
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    throw new ConfigurationError(`The configuration ${name} does not exist (--config)`);
  }
  if (found.isDirectory()) {
    throw new ConfigurationError(`The configuration ${name} is a folder, not a file`);
  }
  return resolveConfig(await load(root, path, name), name);
}

async function load(root: string, path: string, name: string): Promise<unknown> {
  const { build } = await loadEsbuild("trellis");
  const wasMapped = process.sourceMapsEnabled;
  try {
    const result: BuildResult<{ write: false }> = await build({
      // a namespace, because a module without a default export cannot be re-exported as one
      stdin: {
        contents: `import * as module from ${JSON.stringify(path)}; export { module };`,
        resolveDir: root,
      },
      // as deep as the temporary file, which the places of the source map are relative to
      outfile: join(root, ".trellis", "configuration", "bundle.mjs"),
      absWorkingDir: root,
      ...LOCAL_BUILD,
      define: { "import.meta.url": URL, "import.meta.filename": PATH, "import.meta.dirname": DIR },
      sourcemap: "inline",
      sourcesContent: false,
      plugins: [modulePlaces, localResolver(root, new Map())],
    }).catch((error) => {
      throw toBuildError(name, error);
    });
    // errors name lines of the sources
    process.setSourceMapsEnabled?.(true);
    const { module } = await importBundle<{ module: { default?: unknown } }>(
      root,
      "configuration",
      result.outputFiles[0].text,
    ).catch((error) => {
      throw toLoadError(name, error, root);
    });
    return module.default;
  } catch (cause) {
    const { message } = cause as Error;
    const hasPlace = /^[^\s:]+:\d+:\d+: /.test(message);
    throw new ConfigurationError(hasPlace ? message : `${name}: ${message}`, { cause });
  } finally {
    process.setSourceMapsEnabled?.(wasMapped ?? false);
  }
}

const URL = "__trellis_url";
const PATH = "__trellis_filename";
const DIR = "__trellis_dirname";

/** Keeps `import.meta.url` of a module what it is in its own file. */
const modulePlaces: Plugin = {
  name: "module-places",
  setup(build): void {
    build.onLoad({ filter: /\.[cm]?[jt]sx?$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      if (!text.includes("import.meta")) return undefined;
      const places = [[URL, pathToFileURL(path).href], [PATH, path], [DIR, dirname(path)]];
      const known = places.map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
      const loader = /\.[cm]?ts$/.test(path) ? "ts" : /x$/.test(path) ? "tsx" : "js";
      return { contents: `const ${known.join(", ")}; ${text}`, loader };
    });
  },
};
