import { isTrellis } from "../analysis/values.ts";

/** Names that code imports from packages; `"all"` if it imports all names of this package. */
export type ImportedNames = ReadonlySet<string> | "all";

/** Matches the imports of packages in unminified output of esbuild. */
const IMPORT = /^(?:im|ex)port ([^"';]*) from "([^"]+)";$/gm;

/**
 * Lists the names that a function's own code imports.
 *
 * @param code The function's own code as a bundle, with packages as imports.
 */
export function listImportedNames(code: string): ImportedNames {
  const names = new Set<string>();
  for (const [, clause, from] of code.matchAll(IMPORT)) {
    const list = /\{([^}]*)\}/.exec(clause)?.[1];
    if (list === undefined && isTrellis(from)) return "all";
    for (const each of list?.split(",") ?? []) names.add(each.trim().split(" as ")[0]);
  }
  const loaded = [...code.matchAll(/\b(?:import|require)\("([^"]+)"\)/g)];
  return loaded.some(([, from]) => isTrellis(from)) ? "all" : names;
}
