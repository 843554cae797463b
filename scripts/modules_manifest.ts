#!/usr/bin/env -S deno run --allow-read --allow-write
/**
 * Writes `cli/infra/modules_manifest.ts`: the files of the Terraform modules with their SHA-256,
 * which the command line uses to download them for a package from JSR.
 *
 *   deno run -A scripts/modules_manifest.ts            writes
 *   deno run -A scripts/modules_manifest.ts --check    exits with 1 if the file is stale
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { createHash } from "node:crypto";
import { writeOrCheck } from "./generated_file.ts";
import { MODULE_NAMES } from "./terraform_module.ts";

/**
 * Renders the manifest's source text.
 *
 * @param root Folder of the modules.
 */
export async function renderManifest(
  root: string,
  names: readonly string[] = MODULE_NAMES,
): Promise<string> {
  const lines: string[] = [];
  for (const name of [...names].sort()) {
    const files: string[] = [];
    for await (const entry of Deno.readDir(`${root}/${name}`)) {
      if (entry.isFile && entry.name.endsWith(".tf")) files.push(entry.name);
    }
    for (const file of files.sort()) {
      const path = `${name}/${file}`;
      const digest = createHash("sha256").update(await Deno.readFile(`${root}/${path}`)).digest(
        "hex",
      );
      const entry = `  "${path}": "${digest}",`;
      // in the format of deno fmt
      lines.push(entry.length > 100 ? entry.replace(": ", ":\n    ") : entry);
    }
  }
  return `// Written by scripts/modules_manifest.ts; do not edit.

/** SHA-256 of each file of the Terraform modules, by its path under \`modules/\`. */
export const MODULES_MANIFEST: Readonly<Record<string, string>> = {
${lines.join("\n")}
};
`;
}

if (import.meta.main) {
  const wanted = await renderManifest(fileURLToPath(new URL("../modules", import.meta.url)));
  await writeOrCheck("cli/infra/modules_manifest.ts", wanted, "modules_manifest.ts");
}
