// deno-lint-ignore-file no-console
import { fileURLToPath } from "node:url";

/**
 * Writes a generated file of the repository. With `--check` it writes nothing, and exits with 1 later
 * if the file is stale.
 *
 * @param path Path from the root of the repository.
 * @param script Name of the script that generates the file.
 */
export async function writeOrCheck(path: string, text: string, script: string): Promise<void> {
  const file = fileURLToPath(new URL(`../${path}`, import.meta.url));
  if (await Deno.readTextFile(file).catch(() => "") === text) return;
  if (Deno.args.includes("--check")) {
    console.error(`${path} is stale: run deno run -A scripts/${script}`);
    Deno.exitCode = 1;
  } else await Deno.writeTextFile(file, text);
}
