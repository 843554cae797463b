import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { MODULES_MANIFEST } from "./modules_manifest.ts";

/** Names that the project's checkout may have beside a consumer's project. */
const SIBLING_NAMES = ["trellis", "fn"] as const;

/** A file that every folder of modules has. */
const MARKER = "core/versions.tf";

/** How long one file may take to come. */
const FETCH_TIMEOUT_MS = 30_000;

/**
 * Why no modules were found: the explicit path holds none; no place holds any; a file could not be fetched; a file is not
 * the one that was published; the cache folder cannot be written.
 */
export type ModulesPathErrorCode =
  | "EXPLICIT_PATH_INVALID"
  | "MODULES_NOT_FOUND"
  | "DOWNLOAD_FAILED"
  | "CHECKSUM_MISMATCH"
  | "CACHE_NOT_WRITABLE";

/** The Terraform modules could not be found or fetched; `code` says why. */
export class ModulesPathError extends Error {
  /** Always `ModulesPathError`, also in minified code. */
  override readonly name: string = "ModulesPathError";
  /** Why, for a program. */
  readonly code: ModulesPathErrorCode;

  /**
   * Makes the error.
   *
   * @param code Why, for a program.
   * @param message Why and what to do, for a person.
   * @param options The cause, where there is one.
   */
  constructor(code: ModulesPathErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Options of {@linkcode resolveModulesPath}; all but the first are for tests and unusual layouts. */
export interface ResolveModulesPathOptions {
  /** A folder that holds the modules; overrides everything (`--modules-path`). */
  modulesPath?: string;
  /**
   * The consumer's project; relative paths start here, and a sibling checkout stands beside it.
   *
   * @default {the working directory}
   */
  projectDir?: string;
  /**
   * Where this file is: a `file:` URL when installed from npm or checked out, `https:` from JSR.
   *
   * @default {import.meta.url}
   */
  baseUrl?: string | URL;
  /**
   * Where modules that were fetched are kept.
   *
   * @default {the user's cache folder, in `trellis/modules`}
   */
  cacheDir?: string;
  /**
   * SHA-256 of each file to fetch, by its path.
   *
   * @default {the files that this version was published with}
   */
  manifest?: Readonly<Record<string, string>>;
  /**
   * Fetches a file.
   *
   * @default {globalThis.fetch}
   */
  fetch?: typeof fetch;
}

/**
 * Finds the folder that holds the Terraform modules: the explicit path, else the installed package's own `modules/`, else
 * a checkout beside the project. From JSR, where a package has no folder, the modules are fetched once for each version
 * and written to a cache folder; each file is checked against the SHA-256 it was published with, on every call.
 *
 * @returns The folder's absolute path.
 * @throws {ModulesPathError} When there are none; `code` says why.
 *
 * @example
 * ```ts
 * import { resolveModulesPath } from "@trellis/fn/cli";
 *
 * console.log(`${await resolveModulesPath()}/function`);
 * ```
 */
export async function resolveModulesPath(options: ResolveModulesPathOptions = {}): Promise<string> {
  const projectDir = resolve(options.projectDir ?? process.cwd());
  if (options.modulesPath !== undefined) {
    return await checkExplicitPath(options.modulesPath, projectDir);
  }

  const own = new URL("../../modules/", options.baseUrl ?? import.meta.url);
  if (own.protocol === "https:" || own.protocol === "http:") {
    return await fetchModules(own, options);
  }

  const places = SIBLING_NAMES.map((name) => join(dirname(projectDir), name, "modules"));
  if (own.protocol === "file:") places.unshift(resolve(fileURLToPath(own)));
  for (const place of places) if (await holdsModules(place)) return place;
  throw new ModulesPathError(
    "MODULES_NOT_FOUND",
    `The Terraform modules are in none of these folders:\n${
      places.map((place) => `  ${place}`).join("\n")
    }\n` +
      "Install the package again, or say where they are with --modules-path.",
  );
}

async function checkExplicitPath(modulesPath: string, projectDir: string): Promise<string> {
  const path = resolve(projectDir, modulesPath);
  if (modulesPath !== "" && await holdsModules(path)) return path;
  throw new ModulesPathError(
    "EXPLICIT_PATH_INVALID",
    `The modules path "${modulesPath}" (${path}) does not hold the Terraform modules: ${MARKER} is not there. ` +
      "Give the folder that holds core, function and the others, or leave the option out.",
  );
}

async function holdsModules(folder: string): Promise<boolean> {
  const found = await stat(join(folder, MARKER)).catch(() => undefined);
  return found?.isFile() === true;
}

/** The folder is named after what it holds, so versions never mix and nothing has to be cleared. */
async function fetchModules(source: URL, options: ResolveModulesPathOptions): Promise<string> {
  const manifest = options.manifest ?? MODULES_MANIFEST;
  const cacheDir = resolve(options.cacheDir ?? join(userCacheDir(), "trellis", "modules"));
  const folder = join(
    cacheDir,
    hash(new TextEncoder().encode(JSON.stringify(manifest))).slice(0, 16),
  );
  if (await isIntact(folder, manifest)) return folder;

  const files = await Promise.all(
    Object.entries(manifest).map(async ([path, sum]): Promise<[string, Uint8Array]> => [
      path,
      await fetchFile(new URL(path, source), sum, options.fetch ?? globalThis.fetch),
    ]),
  );
  const fresh = `${folder}.${randomUUID()}`;
  try {
    for (const [path, bytes] of files) {
      await mkdir(dirname(join(fresh, path)), { recursive: true });
      await writeFile(join(fresh, path), bytes);
    }
    await moveIntoPlace(fresh, folder, manifest);
    return folder;
  } catch (cause) {
    throw new ModulesPathError(
      "CACHE_NOT_WRITABLE",
      `The Terraform modules could not be written to ${cacheDir}. ` +
        "Make the folder writable, set XDG_CACHE_HOME to another one, or give --modules-path.",
      { cause },
    );
  } finally {
    await rm(fresh, { recursive: true, force: true }).catch(() => {});
  }
}

/** Renaming is one step, so nobody ever sees half a folder. */
async function moveIntoPlace(
  fresh: string,
  folder: string,
  manifest: Readonly<Record<string, string>>,
): Promise<void> {
  try {
    await rename(fresh, folder);
  } catch (error) {
    // Another process was first, or an old copy is damaged and has to make room.
    if (await isIntact(folder, manifest)) return;
    if (await stat(folder).catch(() => undefined) === undefined) throw error;
    const damaged = `${fresh}.damaged`;
    await rename(folder, damaged);
    await rename(fresh, folder);
    await rm(damaged, { recursive: true, force: true });
  }
}

async function isIntact(
  folder: string,
  manifest: Readonly<Record<string, string>>,
): Promise<boolean> {
  const checks = Object.entries(manifest).map(async ([path, sum]) => {
    const bytes = await readFile(join(folder, path)).catch(() => undefined);
    return bytes !== undefined && hash(bytes) === sum;
  });
  return (await Promise.all(checks)).every(Boolean);
}

async function fetchFile(url: URL, sum: string, fetchImpl: typeof fetch): Promise<Uint8Array> {
  let bytes: Uint8Array;
  try {
    const response = await fetchImpl(url, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
    bytes = new Uint8Array(await response.arrayBuffer());
    if (!response.ok) throw new Error(`status ${response.status}`);
  } catch (cause) {
    throw new ModulesPathError(
      "DOWNLOAD_FAILED",
      `${url} could not be fetched: ${cause instanceof Error ? cause.message : String(cause)}. ` +
        "Check the network, or give --modules-path with a copy of the modules.",
      { cause },
    );
  }
  const found = hash(bytes);
  if (found === sum) return bytes;
  throw new ModulesPathError(
    "CHECKSUM_MISMATCH",
    `${url} is not the file that was published: its SHA-256 is ${found}, not ${sum}. Nothing was written.`,
  );
}

function hash(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Each system's own place for what can be fetched again. */
function userCacheDir(): string {
  if (process.env.XDG_CACHE_HOME) return process.env.XDG_CACHE_HOME;
  if (process.platform === "darwin") return join(homedir(), "Library", "Caches");
  if (process.platform === "win32" && process.env.LOCALAPPDATA) return process.env.LOCALAPPDATA;
  return join(homedir(), ".cache");
}
