import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { MODULES_MANIFEST } from "./modules_manifest.ts";

/** Folder names of a checkout next to a consumer's project. */
const SIBLING_NAMES = ["trellis", "fn"] as const;

/** A file that identifies a modules folder. */
const MARKER = "core/versions.tf";

/** Timeout for downloading one file. */
const FETCH_TIMEOUT_MS = 30_000;

/**
 * Why no modules were found: the explicit path contains none; no default location contains any; a
 * download failed; a downloaded file differs from the published one; the cache folder is not
 * writable.
 */
export type ModulesPathErrorCode =
  | "EXPLICIT_PATH_INVALID"
  | "MODULES_NOT_FOUND"
  | "DOWNLOAD_FAILED"
  | "CHECKSUM_MISMATCH"
  | "CACHE_NOT_WRITABLE";

/** Thrown if the Terraform modules cannot be found or downloaded; `code` contains the reason. */
export class ModulesPathError extends Error {
  /** Always `ModulesPathError`, also in minified code. */
  override readonly name: string = "ModulesPathError";
  /** The reason. */
  readonly code: ModulesPathErrorCode;

  /**
   * Creates the error.
   *
   * @param code The reason.
   * @param message The reason and the fix.
   * @param options The cause, if there is one.
   */
  constructor(code: ModulesPathErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * Options of {@linkcode resolveModulesPath}; all except `modulesPath` are for tests and unusual
 * layouts.
 */
export interface ResolveModulesPathOptions {
  /** A folder that holds the modules; overrides everything (`--modules-path`). */
  modulesPath?: string;
  /**
   * The consumer's project. Relative paths start here, and a checkout may be next to it.
   *
   * @default {the working directory}
   */
  projectDir?: string;
  /**
   * URL of this module: `file:` if installed from npm or checked out, `https:` if loaded from JSR.
   *
   * @default {import.meta.url}
   */
  baseUrl?: string | URL;
  /**
   * The cache folder for downloaded modules.
   *
   * @default {the user's cache folder, in `trellis/modules`}
   */
  cacheDir?: string;
  /**
   * SHA-256 of each file to download, by path.
   *
   * @default {the files published with this version}
   */
  manifest?: Readonly<Record<string, string>>;
  /**
   * Downloads a file.
   *
   * @default {globalThis.fetch}
   */
  fetch?: typeof fetch;
}

/**
 * Finds the folder with the Terraform modules: the explicit path, else `modules/` of the installed
 * package, else a checkout next to the project. A package from JSR has no folder, so the modules
 * are downloaded once per version to a cache folder. The SHA-256 of each file is verified on every
 * call.
 *
 * @returns The absolute path of the folder.
 * @throws {ModulesPathError} If the modules are not found; `code` contains the reason.
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

  const candidates = SIBLING_NAMES.map((name) => join(dirname(projectDir), name, "modules"));
  if (own.protocol === "file:") candidates.unshift(resolve(fileURLToPath(own)));
  for (const folder of candidates) if (await hasModules(folder)) return folder;
  throw new ModulesPathError(
    "MODULES_NOT_FOUND",
    `The Terraform modules were not found in any of these folders:\n${
      candidates.map((folder) => `  ${folder}`).join("\n")
    }\n` +
      "Reinstall the package, or set the folder with --modules-path.",
  );
}

async function checkExplicitPath(modulesPath: string, projectDir: string): Promise<string> {
  const path = resolve(projectDir, modulesPath);
  if (modulesPath !== "" && await hasModules(path)) return path;
  throw new ModulesPathError(
    "EXPLICIT_PATH_INVALID",
    `The modules path "${modulesPath}" (${path}) does not ` +
      `contain the Terraform modules: ${MARKER} is missing. ` +
      "Set it to the folder that contains core, function " +
      "and the other modules, or omit the option.",
  );
}

async function hasModules(folder: string): Promise<boolean> {
  const found = await stat(join(folder, MARKER)).catch(() => undefined);
  return found?.isFile() === true;
}

/**
 * Downloads the modules. The folder is named after a hash of the manifest, so that versions never
 * mix, and it is not used before all of its files are right.
 */
async function fetchModules(source: URL, options: ResolveModulesPathOptions): Promise<string> {
  const manifest = options.manifest ?? MODULES_MANIFEST;
  const cacheDir = resolve(options.cacheDir ?? join(getUserCacheDir(), "trellis", "modules"));
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
  try {
    for (const [path, bytes] of files) await replaceFile(join(folder, path), bytes);
    return folder;
  } catch (cause) {
    throw new ModulesPathError(
      "CACHE_NOT_WRITABLE",
      `The Terraform modules cannot be written to ${cacheDir}. ` +
        "Make the folder writable, set XDG_CACHE_HOME to another folder, or use --modules-path.",
      { cause },
    );
  }
}

/** Writes a file in one step, so that other processes, which may do the same, never see a part of it. */
async function replaceFile(file: string, bytes: Uint8Array): Promise<void> {
  const fresh = `${file}.${randomUUID()}`;
  await mkdir(dirname(file), { recursive: true });
  try {
    await writeFile(fresh, bytes);
    await rename(fresh, file);
  } finally {
    await rm(fresh, { force: true }).catch(() => {});
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
      `${url} cannot be downloaded: ${cause instanceof Error ? cause.message : String(cause)}. ` +
        "Check the network, or set --modules-path to a copy of the modules.",
      { cause },
    );
  }
  const found = hash(bytes);
  if (found === sum) return bytes;
  throw new ModulesPathError(
    "CHECKSUM_MISMATCH",
    `${url} differs from the published file: its SHA-256 is ` +
      `${found}, expected ${sum}. Nothing was written.`,
  );
}

function hash(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Returns the platform's cache folder of the user. */
function getUserCacheDir(): string {
  if (process.env.XDG_CACHE_HOME) return process.env.XDG_CACHE_HOME;
  if (process.platform === "darwin") return join(homedir(), "Library", "Caches");
  if (process.platform === "win32" && process.env.LOCALAPPDATA) return process.env.LOCALAPPDATA;
  return join(homedir(), ".cache");
}
