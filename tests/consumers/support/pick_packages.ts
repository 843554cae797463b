import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import {
  BUILD_PACKAGES,
  CACHE,
  DATABASE_PACKAGES,
  type Installed,
  installPackage,
  ROOT,
} from "./package.ts";

const { imports } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
const { dependencies, devDependencies } = JSON.parse(
  await Deno.readTextFile(join(ROOT, "examples/notes-node/package.json")),
);
/** Packages that a test of a handler or of a driver needs, at the versions of deno.json. */
const TESTED = [
  ...["hono", "openapi-fetch"],
  ...["@neondatabase/serverless", "@aws-sdk/client-rds-data", "@aws-sdk/dsql-signer"],
].map((name) => imports[name].slice("npm:".length).replace("@^", "@"));

/** What all consumers need. npm installs it once, because each installation takes ten seconds of CPU time. */
const ALL: readonly string[] = [
  ...new Set([
    ...DATABASE_PACKAGES,
    ...BUILD_PACKAGES,
    ...TESTED,
    ...["rollup@4", "@rollup/plugin-node-resolve@16"],
    ...Object.entries({ ...dependencies, ...devDependencies })
      .filter(([name]) => name !== "@trellis/fn").map(([name, version]) => `${name}@${version}`),
  ]),
].sort();

/** An entry of the lock file that npm writes into `node_modules`. */
interface LockEntry {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/**
 * Makes a folder with the packed package and some packages, and what they depend on, but no other
 * package. The files are those of one installation of the packages of all consumers.
 *
 * @param packages The packages, as `name@version`.
 * @returns The folder; it is shared by all that ask for the same, so write only under unique names.
 */
export async function pickPackages(packages: readonly string[]): Promise<Installed> {
  const missing = packages.filter((each) => !ALL.includes(each));
  if (missing.length > 0) throw new Error(`add to the packages of all consumers: ${missing}`);
  const all = await installPackage(ALL);
  const key = createHash("sha256").update(JSON.stringify([all.folder, packages])).digest("hex");
  const folder = join(CACHE, `picked-${key.slice(0, 16)}`);
  if (await exists(folder)) return { ...all, folder };
  const work = await Deno.makeTempDir({ dir: CACHE, prefix: "install-" });
  await Deno.copyFile(join(all.folder, "package.json"), join(work, "package.json"));
  const lock = await Deno.readTextFile(join(all.folder, "node_modules/.package-lock.json"));
  const names = packages.map((each) => each.slice(0, each.lastIndexOf("@")));
  const folders = findFolders(JSON.parse(lock).packages, ["@trellis/fn", ...names]);
  for (const path of folders) await link(join(all.folder, path), join(work, path));
  await linkPrograms(join(all.folder, "node_modules/.bin"), join(work, "node_modules/.bin"));
  await Deno.rename(work, folder).catch(async () => await Deno.remove(work, { recursive: true }));
  return { ...all, folder };
}

/** Returns the folders in `node_modules` of packages and of what they depend on. */
function findFolders(
  packages: Readonly<Record<string, LockEntry>>,
  names: readonly string[],
): string[] {
  const found = new Set<string>();
  const visit = (from: string, name: string, isOptional: boolean): void => {
    const path = resolve(packages, from, name);
    if (path === undefined && isOptional) return;
    if (path === undefined) throw new Error(`${name} is not installed, which ${from} needs`);
    if (found.has(path)) return;
    found.add(path);
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } =
      packages[path];
    for (const each of Object.keys({ ...dependencies, ...optionalDependencies })) {
      visit(path, each, optionalDependencies?.[each] !== undefined);
    }
    for (const each of Object.keys(peerDependencies ?? {})) {
      if (!peerDependenciesMeta?.[each]?.optional) visit(path, each, false);
    }
  };
  for (const name of names) visit("", name, false);
  // a folder contains those that are nested in it
  return [...found].filter((path) => path.lastIndexOf("node_modules/") === 0);
}

/** Finds a package as Node does: in `node_modules` of the folder, else of the ones above. */
function resolve(
  packages: Readonly<Record<string, LockEntry>>,
  from: string,
  name: string,
): string | undefined {
  const path = join(from, "node_modules", name);
  if (packages[path] !== undefined) return path;
  if (from === "") return undefined;
  return resolve(packages, from.slice(0, Math.max(0, from.lastIndexOf("/node_modules/"))), name);
}

/** Makes a folder with the same files, which are not copied. */
async function link(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for (const { name, isDirectory, isSymlink } of [...Deno.readDirSync(from)]) {
    if (isDirectory) await link(join(from, name), join(to, name));
    else if (isSymlink) Deno.symlinkSync(Deno.readLinkSync(join(from, name)), join(to, name));
    else Deno.linkSync(join(from, name), join(to, name));
  }
}

/** Links the programs of the installed packages. */
async function linkPrograms(from: string, to: string): Promise<void> {
  await Deno.mkdir(to);
  for (const { name } of [...Deno.readDirSync(from)]) {
    const target = Deno.readLinkSync(join(from, name));
    if (await exists(join(dirname(join(to, name)), target))) {
      Deno.symlinkSync(target, join(to, name));
    }
  }
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
