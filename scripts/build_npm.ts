// deno-lint-ignore-file no-console
/**
 * Builds the npm package: dnt where it can be loaded (it lives on JSR), else `deno pack`, then one finishing step for both: the
 * whole package.json, the Terraform modules, the texts. The same sources give the same bytes; a release names its engine.
 *
 *   deno run -A scripts/build_npm.ts [--out <folder>] [--engine dnt|deno-pack]
 *
 * @module
 */
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { createManifest, type ExportTarget, type PackageConfig } from "./npm_manifest.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** What turns the sources into JavaScript and declarations. */
export type Engine = "dnt" | "deno-pack";

/**
 * Reads the value of `--engine`.
 *
 * @param text The value; without one the build chooses.
 * @throws {Error} For anything but the two engines.
 */
export function parseEngine(text: string | undefined): Engine | undefined {
  if (text === undefined || text === "dnt" || text === "deno-pack") return text;
  throw new Error(`--engine ${text}: it is dnt or deno-pack`);
}

/** Where and how the package is built. */
export interface BuildOptions {
  /** The folder; what is in it is removed. @default npm/ in the project */
  out?: string;
  /** @default dnt where it can be loaded, else deno-pack */
  engine?: Engine;
}

/**
 * Builds the npm package into a folder.
 *
 * @param options Where and how.
 * @returns The engine that was used.
 * @throws {Error} When the engine fails, cannot be loaded, or leaves an entry point without declarations.
 */
export async function buildNpm(
  { out = join(ROOT, "npm"), engine }: BuildOptions = {},
): Promise<Engine> {
  const config: PackageConfig = JSON.parse(Deno.readTextFileSync(join(ROOT, "deno.json")));
  await emptyFolder(out, config.name);
  const dnt = engine === "deno-pack" ? undefined : await loadDnt();
  if (dnt === undefined && engine === "dnt") {
    throw new Error(`${DNT} cannot be loaded here: JSR is out of reach`);
  }
  if (dnt === undefined) await runDenoPack(out);
  else await runDnt(dnt, config, out);
  await finish(config, out);
  return dnt === undefined ? "deno-pack" : "dnt";
}

interface Dnt {
  build(options: Record<string, unknown>): Promise<void>;
}

/** Not in deno.json: an entry there would have every offline `deno ci` look for it. */
const DNT = "jsr:@deno/dnt@0.43.2";

async function loadDnt(): Promise<Dnt | undefined> {
  // a constant keeps the type checker from looking for a package that may be out of reach
  const specifier: string = DNT;
  return await import(specifier).catch(() => undefined);
}

/** Runs dnt, and gives its output the layout of the sources, in which assets are found by relative addresses. */
async function runDnt(dnt: Dnt, config: PackageConfig, out: string): Promise<void> {
  await dnt.build(dntOptions(config, out));
  for (const { name } of [...Deno.readDirSync(join(out, "esm"))]) {
    await Deno.rename(join(out, "esm", name), join(out, name));
  }
  for (const name of ["esm", ".npmignore", "_dnt.polyfills.js", "_dnt.polyfills.d.ts"]) {
    await Deno.remove(join(out, name), { recursive: true }).catch(() => {});
  }
  for (const file of listPrograms(out)) await removePolyfills(file);
  await copyFolder(join(ROOT, PAGE), join(out, PAGE));
}

/** Pages that the command line serves. */
const PAGE = "cli/dev/page";

/** What dnt polyfills is part of every Node that `engines` allows, and a package without side effects must not patch globals. */
async function removePolyfills(file: string): Promise<void> {
  const text = await Deno.readTextFile(file);
  const without = text.replace(/^import "[./]*_dnt\.polyfills\.js";\n/gm, "");
  if (without !== text) await Deno.writeTextFile(file, without);
}

function listPrograms(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) => {
    const path = join(folder, name);
    return isDirectory ? listPrograms(path) : /\.(?:js|d\.ts)$/.test(name) ? [path] : [];
  });
}

function dntOptions(config: PackageConfig, out: string): Record<string, unknown> {
  return {
    entryPoints: Object.entries(config.exports).map(([name, path]) => ({
      name,
      path: join(ROOT, path),
    })),
    outDir: out,
    shims: {},
    test: false,
    scriptModule: false,
    declaration: "inline",
    sourceMap: false,
    skipSourceOutput: true,
    skipNpmInstall: true,
    typeCheck: false,
    // what Node 20 has: without it, dnt's declarations miss the types of the web platform
    compilerOptions: { target: "ES2022", lib: ["ES2022", "DOM", "DOM.Iterable"] },
    configFile: new URL("../deno.json", import.meta.url).href,
    package: { name: config.name, version: config.version, license: config.license },
  };
}

async function runDenoPack(out: string): Promise<void> {
  const archive = join(out, "raw.tgz");
  await run(Deno.execPath(), [
    "pack",
    "--allow-dirty",
    "--no-source-maps",
    "--ignore=deno.lock",
    "-o",
    archive,
  ]);
  await run("tar", ["xzf", archive, "--strip-components=1", "--no-same-owner", "-C", out]);
  await Deno.remove(archive);
}

/** Writes what both engines leave out. */
async function finish(config: PackageConfig, out: string): Promise<void> {
  const exports: Record<string, ExportTarget> = {};
  for (const [entry, source] of Object.entries(config.exports)) {
    const path = source.replace(/\.ts$/, "");
    exports[entry] = { types: `${path}.d.ts`, import: `${path}.js`, default: `${path}.js` };
    for (const file of [`${path}.d.ts`, `${path}.js`]) {
      if (!await exists(join(out, file))) {
        throw new Error(`The build made no ${file} for the entry point ${entry}`);
      }
    }
  }
  await Deno.writeTextFile(
    join(out, "package.json"),
    JSON.stringify(createManifest(config, exports), null, 2) + "\n",
  );
  for (const file of ["README.md", "LICENSE", "CHANGELOG.md"]) {
    await Deno.copyFile(join(ROOT, file), join(out, file));
  }
  // deno pack has packed them; beside the JavaScript, as in the sources: they are found by a relative address
  const modules = join(out, "modules");
  if (!await exists(modules)) await copyFolder(join(ROOT, "modules"), modules);
  await removeUnused(modules);
}

/** Empties a folder only when it is a package of ours: a slip in `--out` must not cost anybody their files. */
async function emptyFolder(folder: string, packageName: string): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  const present = [...Deno.readDirSync(folder)].map(({ name }) => name);
  if (present.length === 0) return;
  const manifest = await Deno.readTextFile(join(folder, "package.json")).catch(() => "{}");
  if (present.includes("deno.json") || JSON.parse(manifest).name !== packageName) {
    throw new Error(`${folder} holds something else than an earlier build: give an empty folder`);
  }
  await Deno.remove(folder, { recursive: true });
  await Deno.mkdir(folder);
}

/** Tests and examples of a Terraform module are run in this repository; JSR does not get them either. */
async function removeUnused(folder: string): Promise<void> {
  for (const { name, isDirectory } of [...Deno.readDirSync(folder)]) {
    if (!isDirectory) continue;
    if (name === "tests" || name === "examples") {
      await Deno.remove(join(folder, name), { recursive: true });
    } else await removeUnused(join(folder, name));
  }
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    // what an initialised module leaves beside its sources
    if (name.startsWith(".terraform")) continue;
    if (isDirectory) await copyFolder(join(from, name), join(to, name));
    else await Deno.copyFile(join(from, name), join(to, name));
  }
}

async function run(command: string, args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, {
    args,
    cwd: ROOT,
    stdout: "null",
    stderr: "piped",
  })
    .output();
  if (!success) {
    throw new Error(`${command} ${args.join(" ")} failed:\n${new TextDecoder().decode(stderr)}`);
  }
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

if (import.meta.main) {
  const { values } = parseArgs({
    args: Deno.args,
    options: { out: { type: "string" }, engine: { type: "string" } },
  });
  const out = values.out === undefined ? undefined : resolve(values.out);
  const wanted = parseEngine(values.engine);
  const engine = await buildNpm({ out, engine: wanted });
  if (wanted === undefined && engine === "deno-pack") {
    console.log(`${DNT} cannot be loaded here: deno pack builds`);
  }
  console.log(`built the npm package in ${out ?? "npm/"} with ${engine}`);
}
