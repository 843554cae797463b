import { isTrellis } from "../analysis/values.ts";

/** Names that code imports from packages; `"all"` if it imports all names of this package. */
export type ImportedNames = ReadonlySet<string> | "all";

/**
 * Lists the names that a function's own code imports.
 *
 * @param code The function's own code as a bundle, with packages as imports.
 */
export function listImportedNames(code: string): ImportedNames {
  const names = new Set<string>();
  for (const { clause, from } of listImports(code)) {
    const [, list] = clause.split(/[{}]/);
    if (list === undefined && isTrellis(from)) return "all";
    for (const each of list?.split(",") ?? []) names.add(each.trim().split(" as ")[0]);
  }
  const loaded = [...code.matchAll(/\b(?:import|require)\("([^"]+)"\)/g)];
  return loaded.some(([, from]) => isTrellis(from)) ? "all" : names;
}

/** Lists the imports of packages in unminified output of esbuild, which may take several lines. */
function* listImports(code: string): Generator<{ clause: string; from: string }> {
  for (const part of `${code}\n`.split('";\n')) {
    const text = `\n${part}`;
    const end = text.lastIndexOf(' from "');
    const start = Math.max(text.lastIndexOf("\nimport ", end), text.lastIndexOf("\nexport ", end));
    if (end === -1 || start === -1) continue;
    const clause = text.slice(start + "\nimport ".length, end);
    if (!/["';]/.test(clause)) yield { clause, from: text.slice(end + ' from "'.length) };
  }
}
