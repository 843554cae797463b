// deno-lint-ignore-file no-console
/**
 * Builds the reference of all public symbols with `deno doc`, or checks that each has a doc
 * comment and names exported types only.
 *
 *   deno run -A scripts/api_docs.ts [--out <folder>]   writes the site, by default to docs/api
 *   deno run -A scripts/api_docs.ts --check            exits with 1 if a symbol does not
 *
 * @module
 */
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";
import { listFiles } from "./list_files.ts";
import { runOrThrow, runProgram } from "./program.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** A finding of `deno doc --lint`. */
export interface DocFault {
  /** Path from the root of the project. */
  readonly file: string;
  readonly line: number;
  /** The source line. */
  readonly code: string;
}

/**
 * Returns the symbols of this project without a doc comment from the output of `deno doc --lint`.
 *
 * Excluded are the types of zod that `z` has, constructors (the class and its parameters are documented), members that
 * override documented ones, and further signatures of an overloaded function.
 *
 * @param text The output, without colours.
 */
export function readDocFaults(text: string, root: string): DocFault[] {
  const faults: DocFault[] = [];
  const complaint =
    /^error\[missing-jsdoc\][^\n]*\n\s*--> ([^\n]+):(\d+):\d+\n\s*\|\s*\n\s*\d+ \|([^\n]*)/gm;
  for (const [, path, line, code] of text.matchAll(complaint)) {
    if (!path.startsWith(root)) continue;
    const file = path.slice(root.length);
    if (file === "validation/z.ts" || /^\s*(override|constructor)\b/.test(code)) continue;
    if (/^\s*export function [^{]*;\s*$/.test(code)) continue;
    faults.push({ file, line: Number(line), code: code.trim() });
  }
  return faults;
}

/**
 * Files whose private types may appear in public types: they are short names for drizzle's column builders, and for its clients by
 * version, which is what a reader has to look up.
 */
const EXEMPT_FILES: ReadonlySet<string> = new Set([
  "auth/tables/columns.ts",
  "database/session/drizzle_client.ts",
  "database/session/transaction.ts",
]);

/** A public symbol that names a private type. */
export interface PrivateType {
  /** Path from the root of the project. */
  readonly file: string;
  readonly line: number;
  readonly symbol: string;
  readonly type: string;
}

/**
 * Reads the complaints about private types of the project out of what `deno doc --lint` prints. Types of packages (zod, drizzle,
 * better-auth) are left out: the packages document them.
 *
 * @param text What it printed, without colours.
 * @param sourceLines The lines of the project's sources: they distinguish its types from those of packages.
 */
export function readPrivateTypes(
  text: string,
  root: string,
  sourceLines: ReadonlySet<string>,
): PrivateType[] {
  const found: PrivateType[] = [];
  const complaint =
    /^error\[private-type-ref\]: public type '(.+)' references private type '(.+)'\n\s*--> ([^\n]+):(\d+):\d+\n(?:(?!^error).*\n)*?\s*\d+ \| ([^\n]*)\n\s*\|\s*-+ this is the referenced type/gm;
  for (const [, symbol, type, path, line, declaration] of text.matchAll(complaint)) {
    const file = path.replace(root, "");
    if (!path.startsWith(root) || EXEMPT_FILES.has(file)) continue;
    if (!sourceLines.has(declaration.trim())) continue;
    found.push({ file, line: Number(line), symbol, type });
  }
  return found;
}

/** Returns the lines of the library, without indentation. */
async function readSourceLines(folders: readonly string[]): Promise<Set<string>> {
  const lines = new Set<string>();
  for (const folder of folders) {
    for (const file of listFiles(join(ROOT, folder)).filter((name) => name.endsWith(".ts"))) {
      const text = await Deno.readTextFile(join(ROOT, folder, file));
      for (const line of text.split("\n")) lines.add(line.trim());
    }
  }
  return lines;
}

if (import.meta.main) {
  const { values } = parseArgs({
    args: Deno.args,
    options: { check: { type: "boolean" }, out: { type: "string", default: "docs/api" } },
  });
  const config = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  const entries = Object.values<string>(config.exports);
  if (values.check) {
    const lint = ["doc", "--lint", ...entries];
    const { stdout, stderr } = await runProgram(Deno.execPath(), lint, { cwd: ROOT });
    const text = stdout + stderr;
    const faults = readDocFaults(text, ROOT);
    const folders = new Set(entries.map((entry) => entry.split("/")[1]));
    folders.delete("mod.ts");
    const privateTypes = readPrivateTypes(text, ROOT, await readSourceLines([...folders]));
    for (const { file, line, symbol, type } of privateTypes) {
      console.error(`${file}:${line}: ${symbol} names the type ${type}, which is not exported`);
    }
    for (const { file, line, code } of faults) {
      console.error(`${file}:${line}: no doc comment: ${code}`);
    }
    console.log(`${faults.length} public symbols without a doc comment`);
    console.log(`${privateTypes.length} public symbols that name a private type`);
    if (faults.length + privateTypes.length > 0) Deno.exitCode = 1;
  } else {
    await Deno.remove(values.out, { recursive: true }).catch(() => {});
    const name = `${config.name} ${config.version}`;
    const html = ["doc", "--html", `--name=${name}`, `--output=${values.out}`, ...entries];
    await runOrThrow(Deno.execPath(), html, { cwd: ROOT });
    console.log(`written: ${values.out}/index.html`);
  }
}
