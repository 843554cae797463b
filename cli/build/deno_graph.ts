import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { ConfigurationError } from "../../errors/http_errors.ts";

/** A module that Deno knows. */
export interface DenoModule {
  /** Its URL, or `npm:/zod@4.6.7/v4/core`. */
  readonly specifier: string;
  /** `esm`, `asserted` (JSON and such), `npm`, `node`, `external`. */
  readonly kind?: string;
  readonly mediaType?: string;
  /** The file that holds it: itself, or one in Deno's cache. */
  readonly local?: string;
  readonly error?: string;
  /** The package of an `npm:` module, as {@link DenoGraph.npmPackages} names it. */
  readonly npmPackage?: string;
  readonly dependencies?: readonly {
    readonly specifier: string;
    readonly code?: { readonly specifier?: string; readonly error?: string };
  }[];
}

/** A package in Deno's cache, or in node_modules. */
export interface DenoPackage {
  readonly name: string;
  readonly version: string;
  /** Packages by id, peers among them. */
  readonly dependencies: readonly string[];
  readonly localPath: string;
}

/** What a program's imports lead to, as `deno info --json` tells it. */
export interface DenoGraph {
  readonly modules: readonly DenoModule[];
  readonly redirects: Readonly<Record<string, string>>;
  readonly npmPackages: Readonly<Record<string, DenoPackage>>;
}

/**
 * Finds the configuration that makes a project one of Deno's. Where package.json is nearer, or in the same folder and
 * Node runs us, the project is Node's.
 *
 * @param root The project's folder.
 * @returns Absolute path of deno.json, if it is.
 */
export function findDenoConfig(root: string): string | undefined {
  for (let folder = root;; folder = dirname(folder)) {
    const config = ["deno.json", "deno.jsonc"].map((name) => join(folder, name)).find((file) =>
      existsSync(file)
    );
    const isNode = existsSync(join(folder, "package.json"));
    if (config !== undefined && (!isNode || process.versions.deno !== undefined)) return config;
    if (isNode || dirname(folder) === folder) return undefined;
  }
}

/** Source text that names each import takes about 2 KB a module; a thousand functions are a few MB. */
const MAX_OUTPUT_BYTES = 512 * 1024 * 1024;

/**
 * Asks Deno what the functions import: its import map, its lock file and its cache, for `npm:`, `jsr:` and `https:`.
 *
 * @param config Absolute path of deno.json.
 * @param files Absolute paths of the functions.
 * @returns The graph.
 * @throws {ConfigurationError} When there is no Deno, or it cannot resolve the project.
 */
export async function loadDenoGraph(config: string, files: readonly string[]): Promise<DenoGraph> {
  const deno = process.versions.deno === undefined ? "deno" : process.execPath;
  const folder = mkdtempSync(join(tmpdir(), "trellis-build-"));
  const removeFolder = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", removeFolder);
  try {
    const entries = join(folder, "entries.mjs");
    writeFileSync(
      entries,
      files.map((file) => `import ${JSON.stringify(pathToFileURL(file).href)};\n`).join(""),
    );
    const { stdout } = await promisify(execFile)(deno, [
      "info",
      "--json",
      "--config",
      config,
      entries,
    ], {
      cwd: dirname(config),
      maxBuffer: MAX_OUTPUT_BYTES,
      env: { ...process.env, NO_COLOR: "1" },
    });
    return JSON.parse(stdout);
  } catch (cause) {
    const { code, stderr, message } = cause as {
      code?: string | number;
      stderr?: string;
      message: string;
    };
    throw new ConfigurationError(
      code === "ENOENT"
        ? `${config} makes this a project of Deno's, and there is no program deno: install it, or run ` +
          "deno run -A jsr:@trellis/fn/cli build"
        : `deno info could not read the project: ${(stderr || message).trim()}`,
      { cause },
    );
  } finally {
    process.removeListener("exit", removeFolder);
    removeFolder();
  }
}
