import type { Plugin } from "esbuild";
import { readFileSync, statSync } from "node:fs";
import { dirname, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { ProjectModules } from "../sources/import_modules.ts";
import { readOnce } from "../sources/share_reads.ts";
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
  const loaded = readOnce(JSON.stringify(["configuration", path]), () => load(root, path, name));
  return resolveConfig(await loaded, name);
}

async function load(root: string, path: string, name: string): Promise<unknown> {
  const modules: ProjectModules = {
    root,
    name,
    command: "trellis",
    // a namespace, because a module without a default export cannot be re-exported as one
    source: {
      contents: `import * as module from ${JSON.stringify(path)}; export { module };`,
      resolveDir: root,
    },
    options: {
      define: { "import.meta.url": URL, "import.meta.filename": PATH, "import.meta.dirname": DIR },
      plugins: [modulePlaces],
    },
  };
  // imported on demand: without a file no package is needed
  const { bundleModules, importModules } = await import("../sources/import_modules.ts");
  try {
    const code = await bundleModules(modules);
    return (await importModules<{ module: { default?: unknown } }>(modules, code)).module.default;
  } catch (cause) {
    const { message } = cause as Error;
    const hasPlace = /^[^\s:]+:\d+:\d+: /.test(message);
    throw new ConfigurationError(hasPlace ? message : `${name}: ${message}`, { cause });
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
