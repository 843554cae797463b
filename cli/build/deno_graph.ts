import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { listParentFolders } from "../files/parent_folders.ts";
import { MISSING_PROGRAM, runProgram } from "../programs/run_program.ts";

/** The esbuild namespace of remote modules. */
export const REMOTE_NAMESPACE = "remote";

/** A module in Deno's module graph. */
export interface DenoModule {
  /** Its URL, or `npm:/zod@4.6.7/v4/core`. */
  readonly specifier: string;
  /** `esm`, `asserted` (such as JSON), `npm`, `node` or `external`. */
  readonly kind?: string;
  readonly mediaType?: string;
  /** The local file: the module itself, or a file in Deno's cache. */
  readonly local?: string;
  readonly error?: string;
  /** The package of an `npm:` module; a key of {@link DenoGraph.npmPackages}. */
  readonly npmPackage?: string;
  readonly dependencies?: readonly {
    readonly specifier: string;
    readonly code?: { readonly specifier?: string; readonly error?: string };
  }[];
}

/** A package in Deno's cache or in node_modules. */
export interface DenoPackage {
  readonly name: string;
  readonly version: string;
  /** Ids of packages, including peers. */
  readonly dependencies: readonly string[];
  readonly localPath: string;
}

/** The module graph of a program, the output of `deno info --json`. */
export interface DenoGraph {
  readonly modules: readonly DenoModule[];
  readonly redirects: Readonly<Record<string, string>>;
  readonly npmPackages: Readonly<Record<string, DenoPackage>>;
}

/**
 * Finds the configuration of a Deno project. A project belongs to Node.js if package.json is
 * nearer, or in the same folder while Node.js runs this process.
 *
 * @returns Absolute path of deno.json; `undefined` for a Node.js project.
 */
export function findDenoConfig(root: string): string | undefined {
  for (const folder of listParentFolders(root)) {
    const config = ["deno.json", "deno.jsonc"].map((name) => join(folder, name)).find((file) =>
      existsSync(file)
    );
    const isNode = existsSync(join(folder, "package.json"));
    if (config !== undefined && (!isNode || process.versions.deno !== undefined)) return config;
    if (isNode) return undefined;
  }
  return undefined;
}

/**
 * Resolves the imports of functions with Deno: its import map, lock file and cache for `npm:`,
 * `jsr:` and `https:`.
 *
 * @param config Absolute path of deno.json.
 * @param urls URLs of the functions.
 * @returns The module graph.
 * @throws {ConfigurationError} If Deno is missing or cannot resolve the project.
 */
export async function loadDenoGraph(config: string, urls: readonly string[]): Promise<DenoGraph> {
  const deno = process.versions.deno === undefined ? "deno" : process.execPath;
  const folder = mkdtempSync(join(tmpdir(), "trellis-build-"));
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", removeFolder);
  try {
    const entries = join(folder, "entries.mjs");
    writeFileSync(
      entries,
      urls.map((url) => `import ${JSON.stringify(url)};\n`).join(""),
    );
    const { exitCode, stdout, stderr } = await runProgram(
      deno,
      ["info", "--json", "--config", config, entries],
      { cwd: dirname(config), env: { NO_COLOR: "1" } },
    );
    if (exitCode === 0) return JSON.parse(stdout);
    throw new ConfigurationError(
      exitCode === MISSING_PROGRAM
        ? `${config} makes this a Deno project, but deno is not installed: install it, or run ` +
          "deno run -A jsr:@trellis/fn/cli build"
        : `deno info cannot read the project: ${stderr.trim()}`,
    );
  } finally {
    process.removeListener("exit", removeFolder);
    removeFolder();
  }
}
