import type { ExportNamedDeclaration, Program } from "acorn";
import { getExportedName } from "../sources/syntax.ts";

/** Name of the export of {@link toRepeatableModule}. */
export const RUN = "__trellisRun";
/** Name of the member of its result that evaluates a text in the scope of the module. */
export const EVALUATE = "__trellisEvaluate";
/** Lines before the code of the bundle. */
export const ADDED_LINES = 1;

/**
 * Turns a bundle into a module with one exported function: each call runs the bundle's code and returns its exports.
 * The modules that are imported on demand run too. Lines and columns stay, after {@link ADDED_LINES} lines.
 *
 * @param code The bundle.
 * @param program Its syntax tree.
 */
export function toRepeatableModule(code: string, program: Program): string {
  let body = "";
  let end = 0;
  const imports: string[] = [];
  const exports: string[] = [];
  for (const statement of program.body) {
    const isImport = statement.type === "ImportDeclaration" ||
      statement.type === "ExportAllDeclaration";
    if (!isImport && statement.type !== "ExportNamedDeclaration") continue;
    const text = code.slice(statement.start, statement.end);
    body += code.slice(end, statement.start) + text.replace(/[^\n]/g, " ");
    end = statement.end;
    if (isImport) imports.push(text.replaceAll("\n", " "));
    else exports.push(...listExports(statement));
  }
  body += code.slice(end);
  const started = [...code.matchAll(/^var ((?:init|require)_\w+) = __(?:esm|commonJS)\(/gm)].map(
    ([, name]) => `await ${name}();`,
  );
  return [
    `${imports.join(" ")} export async function ${RUN}() {`,
    body,
    ...started,
    `return { ${[...exports, `${EVALUATE}: (source) => eval(source)`].join(", ")} };`,
    "}",
  ].join("\n");
}

/** Lists the members of an object with the exports of a statement: esbuild writes one list of names. */
function listExports({ specifiers }: ExportNamedDeclaration): string[] {
  return specifiers.map(({ local, exported }) =>
    `${JSON.stringify(getExportedName(exported))}: ${getExportedName(local)}`
  );
}
