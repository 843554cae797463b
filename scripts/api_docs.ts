// deno-lint-ignore-file no-console
/**
 * Builds the reference of all public symbols with `deno doc`, or checks that each has a doc
 * comment.
 *
 *   deno run -A scripts/api_docs.ts [--out <folder>]   writes the site, by default to docs/api
 *   deno run -A scripts/api_docs.ts --check            exits with 1 if a symbol has no doc comment
 *
 * @module
 */
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";

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
 * Excluded are the types of zod that `z` re-exports, constructors (the class and its parameters are
 * documented), members that override documented ones, further signatures of an overloaded function,
 * and `private-type-ref`, which also includes every type of drizzle and zod in a signature.
 *
 * @param text The output, without colours.
 * @param root The project's folder.
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

async function deno(args: string[]): Promise<{ success: boolean; text: string }> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  return { success, text: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

if (import.meta.main) {
  const { values } = parseArgs({
    args: Deno.args,
    options: { check: { type: "boolean" }, out: { type: "string", default: "docs/api" } },
  });
  const config = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  const entries = Object.values<string>(config.exports);
  if (values.check) {
    const faults = readDocFaults((await deno(["doc", "--lint", ...entries])).text, ROOT);
    for (const { file, line, code } of faults) {
      console.error(`${file}:${line}: no doc comment: ${code}`);
    }
    console.log(`${faults.length} public symbols without a doc comment`);
    if (faults.length > 0) Deno.exitCode = 1;
  } else {
    await Deno.remove(values.out, { recursive: true }).catch(() => {});
    const name = `${config.name} ${config.version}`;
    const { success, text } = await deno([
      "doc",
      "--html",
      `--name=${name}`,
      `--output=${values.out}`,
      ...entries,
    ]);
    if (!success) {
      console.error(text);
      Deno.exit(1);
    }
    console.log(`written: ${values.out}/index.html`);
  }
}
