// deno-lint-ignore-file no-console
/**
 * Builds the npm package with dnt if it can be loaded from JSR, else with `deno pack`. A final step
 * for both writes package.json, the Terraform modules and the texts. The same sources give the same
 * bytes. A release sets the engine. The package `create-trellis` is written beside it.
 *
 *   deno run -A scripts/build_npm.ts [--out <folder>] [--engine dnt|deno-pack]
 *
 * @module
 */
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { readSections } from "./docs/pages.ts";
import { getSummary, RAW_DOCS, renderLlmsTxt, rewriteLinks } from "./docs/site_pages.ts";
import { listFiles } from "./list_files.ts";
import { buildCreatePackage } from "./create_package.ts";
import { createManifest, type ExportTarget, type PackageConfig } from "./npm_manifest.ts";
import { runOrThrow } from "./program.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Program that converts the sources to JavaScript and declarations. */
export type Engine = "dnt" | "deno-pack";

/**
 * Reads the value of `--engine`.
 *
 * @param text The value, or `undefined` for the default.
 * @throws {Error} If it is not an engine.
 */
export function parseEngine(text: string | undefined): Engine | undefined {
  if (text === undefined || text === "dnt" || text === "deno-pack") return text;
  throw new Error(`--engine ${text}: it is dnt or deno-pack`);
}

/** Options of {@link buildNpm}. */
export interface BuildOptions {
  /** Output folder; its contents are removed. @default npm/ in the project */
  out?: string;
  /** @default dnt if it can be loaded, else deno-pack */
  engine?: Engine;
}

/**
 * Builds the npm package into a folder.
 *
 * @returns The used engine.
 * @throws {Error} If the engine fails, cannot be loaded, or creates no declarations for an entry
 * point.
 */
export async function buildNpm(
  { out = join(ROOT, "npm"), engine }: BuildOptions = {},
): Promise<Engine> {
  const config: PackageConfig = JSON.parse(Deno.readTextFileSync(join(ROOT, "deno.json")));
  await emptyFolder(out, config.name);
  const dnt = engine === "deno-pack" ? undefined : await loadDnt();
  if (dnt instanceof Error) {
    if (engine === "dnt") throw dnt;
    console.log(`${dnt.message}: deno pack builds`);
  }
  const usesDnt = dnt !== undefined && !(dnt instanceof Error);
  if (usesDnt) await runDnt(dnt, config, out);
  else await runDenoPack(out);
  await finish(config, out);
  return usesDnt ? "dnt" : "deno-pack";
}

interface Dnt {
  build(options: Record<string, unknown>): Promise<void>;
}

/** Not in deno.json, where an offline `deno ci` would search for it. */
const DNT = "jsr:@deno/dnt@0.43.2";

/** Loads dnt, or returns why it cannot be loaded. */
async function loadDnt(): Promise<Dnt | Error> {
  // a variable, so that the type checker does not resolve a package that may be unreachable
  const specifier: string = DNT;
  return await import(specifier).catch((cause: Error) =>
    new Error(`${DNT} cannot be loaded: ${cause.message}`, { cause })
  );
}

/**
 * Runs dnt and moves its output to the layout of the sources, because assets are found by relative
 * URLs.
 */
async function runDnt(dnt: Dnt, config: PackageConfig, out: string): Promise<void> {
  await dnt.build(dntOptions(config, out));
  for (const { name } of [...Deno.readDirSync(join(out, "esm"))]) {
    await Deno.rename(join(out, "esm", name), join(out, name));
  }
  for (const name of ["esm", ".npmignore"]) {
    await Deno.remove(join(out, name), { recursive: true }).catch(() => {});
  }
  await copyFolder(join(ROOT, PAGE), join(out, PAGE));
}

/** Pages that the command line serves. */
const PAGE = "cli/dev/page";

function dntOptions(config: PackageConfig, out: string): Record<string, unknown> {
  return {
    entryPoints: Object.entries(config.exports).map(([name, path]) => ({
      name,
      path: join(ROOT, path),
    })),
    outDir: out,
    shims: {},
    // every supported Node has these functions, and `import.meta` is not replaced
    polyfills: false,
    test: false,
    scriptModule: false,
    declaration: "inline",
    sourceMap: false,
    skipSourceOutput: true,
    skipNpmInstall: true,
    typeCheck: false,
    // matches Node 20; otherwise dnt's declarations lack the types of the web platform
    compilerOptions: { target: "ES2022", lib: ["ES2022", "DOM", "DOM.Iterable"] },
    configFile: new URL("../deno.json", import.meta.url).href,
    package: { name: config.name, version: config.version, license: config.license },
  };
}

async function runDenoPack(out: string): Promise<void> {
  const archive = join(out, "raw.tgz");
  const pack = ["pack", "--allow-dirty", "--no-source-maps", "--ignore=deno.lock", "-o", archive];
  await runOrThrow(Deno.execPath(), pack, { cwd: ROOT });
  await runOrThrow("tar", ["xzf", archive, "--strip-components=1", "--no-same-owner", "-C", out]);
  await Deno.remove(archive);
}

/** Writes the parts that both engines omit. */
async function finish(config: PackageConfig, out: string): Promise<void> {
  const exports: Record<string, ExportTarget> = {};
  for (const [entry, source] of Object.entries(config.exports)) {
    const path = source.replace(/\.ts$/, "");
    exports[entry] = { types: `${path}.d.ts`, import: `${path}.js`, default: `${path}.js` };
    for (const file of [`${path}.d.ts`, `${path}.js`]) {
      if (!await exists(join(out, file))) {
        throw new Error(`The build created no ${file} for the entry point ${entry}`);
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
  await writeDocs(out);
  // deno pack already includes them; the JavaScript finds them by a relative URL
  const modules = join(out, "modules");
  if (!await exists(modules)) await copyFolder(join(ROOT, "modules"), modules);
  await removeUnused(modules);
  await removeUnusedDeclarations(out, Object.values(exports).map(({ types }) => types));
}

/** Removes the declarations that no entry point refers to. dnt writes one for each module. */
async function removeUnusedDeclarations(
  folder: string,
  entryPoints: readonly string[],
): Promise<void> {
  const used = new Set(entryPoints.map((file) => join(folder, file)));
  for (const file of used) {
    const text = await Deno.readTextFile(file);
    for (const [, specifier] of text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]*)\.js"/g)) {
      used.add(resolve(dirname(file), `${specifier}.d.ts`));
    }
  }
  for (const file of listFiles(folder).filter((name) => name.endsWith(".d.ts"))) {
    if (!used.has(join(folder, file))) await Deno.remove(join(folder, file));
  }
}

/** Writes the pages of the documentation and their index. */
async function writeDocs(out: string): Promise<void> {
  const groups = readSections(join(ROOT, "docs"));
  for (const { path, text } of groups.flatMap(({ pages }) => pages)) {
    await Deno.mkdir(dirname(join(out, "docs", path)), { recursive: true });
    // the package contains no figures
    const page = rewriteLinks(text, `docs/${path}`, path)
      .replaceAll(/\]\((?:\.\/|\.\.\/)*figures\//g, `](${RAW_DOCS}figures/`);
    await Deno.writeTextFile(join(out, "docs", path), page);
  }
  const summary = getSummary(await Deno.readTextFile(join(ROOT, "README.md")));
  await Deno.writeTextFile(join(out, "llms.txt"), renderLlmsTxt(groups, summary, "docs/"));
}

/**
 * Empties a folder only if it contains an earlier build, so that a wrong `--out` deletes no other
 * files.
 */
async function emptyFolder(folder: string, packageName: string): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  const present = [...Deno.readDirSync(folder)].map(({ name }) => name);
  if (present.length === 0) return;
  const manifest = await Deno.readTextFile(join(folder, "package.json")).catch(() => "{}");
  if (present.includes("deno.json") || JSON.parse(manifest).name !== packageName) {
    throw new Error(`${folder} contains other files than an earlier build: choose an empty folder`);
  }
  await Deno.remove(folder, { recursive: true });
  await Deno.mkdir(folder);
}

/** Parts of the Terraform modules that are read in the repository, and not by Terraform. */
const REPOSITORY_ONLY: readonly string[] = ["tests", "examples", "README.md"];

async function removeUnused(folder: string): Promise<void> {
  for (const { name, isDirectory } of [...Deno.readDirSync(folder)]) {
    const path = join(folder, name);
    if (REPOSITORY_ONLY.includes(name)) await Deno.remove(path, { recursive: true });
    else if (isDirectory) await removeUnused(path);
  }
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    // files of `terraform init`
    if (name.startsWith(".terraform")) continue;
    if (isDirectory) await copyFolder(join(from, name), join(to, name));
    else await Deno.copyFile(join(from, name), join(to, name));
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
  const out = resolve(values.out ?? join(ROOT, "npm"));
  const engine = await buildNpm({ out, engine: parseEngine(values.engine) });
  await buildCreatePackage(join(out, "../create-trellis"), out);
  console.log(`built the npm package in ${out} with ${engine}, and create-trellis beside it`);
}
