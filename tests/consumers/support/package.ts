import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildNpm } from "../../../scripts/build_npm.ts";
import { BUILD_PACKAGES, DATABASE_PACKAGES } from "../../../scripts/bundles/install.ts";
import { runOrThrow } from "../../../scripts/program.ts";

export { BUILD_PACKAGES, DATABASE_PACKAGES };

/** Kept between runs, so that an unchanged package is installed once. */
export const CACHE: string = join(
  Deno.env.get("TRELLIS_TEST_CACHE") ?? tmpdir(),
  "trellis-consumers",
);
/** The programs that use the package. */
export const PROGRAMS: string = fileURLToPath(new URL("../programs", import.meta.url));
/** The checkout. */
export const ROOT: string = fileURLToPath(new URL("../../..", import.meta.url));

/** A folder in which `npm install <tarball>` ran, and nothing else. */
export interface Installed {
  readonly folder: string;
  /** The packed package. */
  readonly tarball: string;
  /** The output of npm. */
  readonly log: string;
}

/**
 * Returns the packed package, built from the sources. `TRELLIS_NPM_PACKAGE` names a folder with a build to use instead.
 *
 * @returns The archive; its name carries the hash of its bytes.
 */
export async function packPackage(): Promise<string> {
  const run = Deno.env.get("TRELLIS_TEST_RUN");
  if (run === undefined) return await buildAndPack();
  using _lock = await lock(`run-${run}`);
  const note = join(CACHE, `run-${run}.txt`);
  const packed = await Deno.readTextFile(note).catch(() => undefined);
  if (packed !== undefined) return packed;
  const tarball = await buildAndPack();
  await Deno.writeTextFile(note, tarball);
  return tarball;
}

async function buildAndPack(): Promise<string> {
  await Deno.mkdir(CACHE, { recursive: true });
  const work = await Deno.makeTempDir({ dir: CACHE, prefix: "pack-" });
  try {
    const given = Deno.env.get("TRELLIS_NPM_PACKAGE");
    const built = given ?? join(work, "package");
    if (given === undefined) await buildNpm({ out: built, engine: "deno-pack" });
    await runOrThrow("npm", ["pack", built, "--silent", "--pack-destination", work], { cwd: work });
    const [file] = [...Deno.readDirSync(work)].filter(({ name }) => name.endsWith(".tgz"));
    const bytes = await Deno.readFile(join(work, file.name));
    const tarball = join(
      CACHE,
      `trellis-${createHash("sha256").update(bytes).digest("hex").slice(0, 16)}.tgz`,
    );
    await Deno.rename(join(work, file.name), tarball);
    return tarball;
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

/**
 * Installs the packed package, and perhaps more, in a separate folder.
 *
 * @param packages More packages, as `name@version`.
 * @returns The folder; it is shared by all that ask for the same, so write only under unique names.
 */
export async function installPackage(packages: readonly string[] = []): Promise<Installed> {
  const tarball = await packPackage();
  const key = createHash("sha256").update(JSON.stringify([tarball, packages, 2])).digest("hex")
    .slice(0, 16);
  using _lock = await lock(key);
  const folder = join(CACHE, `app-${key}`);
  const logFile = join(folder, "install.log");
  const present = await Deno.readTextFile(logFile).catch(() => undefined);
  if (present !== undefined) return { folder, tarball, log: present };
  await removeOld();
  const work = await Deno.makeTempDir({ dir: CACHE, prefix: "install-" });
  await Deno.writeTextFile(join(work, "package.json"), '{ "private": true, "type": "module" }\n');
  const { stdout, stderr } = await runOrThrow("npm", [
    "install",
    "--no-audit",
    "--no-fund",
    tarball,
    ...packages,
  ], {
    cwd: work,
    // settings of the user's npm cause no warnings
    env: { npm_config_userconfig: join(work, ".npmrc") },
  });
  const log = `${stdout}${stderr}`;
  await Deno.writeTextFile(join(work, "install.log"), log);
  await Deno.rename(work, folder).catch(async () => await Deno.remove(work, { recursive: true }));
  return { folder, tarball, log };
}

/** Locks a name among processes. The lock of a process ends with it. */
async function lock(name: string): Promise<Disposable> {
  await Deno.mkdir(CACHE, { recursive: true });
  const file = await Deno.open(join(CACHE, `${name}.lock`), { create: true, write: true });
  await file.lock(true);
  return file;
}

/** Removes the packages of earlier runs. */
async function removeOld(): Promise<void> {
  for await (const { name } of Deno.readDir(CACHE)) {
    const path = join(CACHE, name);
    const { mtime } = await Deno.stat(path);
    const isOld = Date.now() - (mtime?.getTime() ?? 0) > 60 * 60_000;
    if (isOld && !name.startsWith("tools-")) await Deno.remove(path, { recursive: true });
  }
}

/**
 * Makes a folder for one consumer inside an installed one, where Node finds the packages.
 *
 * @param installed Where the package is.
 * @param files Name to text; a missing text means that the program of this name is copied.
 * @returns The folder. Remove it with {@link Deno.remove}.
 */
export async function makeConsumer(
  installed: Installed,
  files: Record<string, string | undefined>,
): Promise<string> {
  const folder = await Deno.makeTempDir({ dir: installed.folder, prefix: "consumer-" });
  for (const [name, text] of Object.entries(files)) {
    if (text === undefined) await Deno.copyFile(join(PROGRAMS, name), join(folder, name));
    else await Deno.writeTextFile(join(folder, name), text);
  }
  return folder;
}
