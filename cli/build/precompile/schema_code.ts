import { applyEdits, type Edit } from "../../analysis/slice_names.ts";
import type { ts } from "../../analysis/typescript.ts";
import { USED } from "./specifiers.ts";
import type { SchemaModuleSource, SourceSchema } from "./schema_module.ts";

/** The prefix of specifiers for schemas that are compiled. */
export const COMPILED = "trellis-schema:";
/** The prefix of specifiers for schemas as in the sources. */
export const ORIGINAL = "trellis-original:";

/**
 * Renders a module whose compiled schemas come from separate modules. Lines keep their numbers.
 *
 * @param isCompiled Checks whether a schema is compiled.
 */
export function renderCompiledModule(
  { module, schemas, others }: SchemaModuleSource,
  isCompiled: (schema: SourceSchema) => boolean,
): string {
  const { text } = module.source;
  const edits: Edit[] = [];
  const imports = [`import { used as __trellisUsed } from ${JSON.stringify(USED)};`];
  const replace = (node: ts.Expression, code: (text: string) => string): void => {
    const start = node.getStart();
    edits.push({ start, end: node.end, text: code(text.slice(start, node.end)) });
  };
  schemas.forEach((schema, index) => {
    if (isCompiled(schema)) {
      const name = `__trellisSchema${index}`;
      imports.push(`import { schema as ${name} } from ${JSON.stringify(COMPILED + schema.key)};`);
      replace(schema.node, (code) => name + code.replace(/[^\n]/g, ""));
    } else {
      replace(schema.node, renderOmittable);
    }
  });
  for (const node of others) replace(node, renderOmittable);
  return `${applyEdits(text, 0, edits)}\n${imports.join("\n")}\n`;
}

/** Renders a call that the bundler omits if its result is not used; otherwise it includes the marker. */
function renderOmittable(code: string): string {
  return `/* @__PURE__ */ (() => (__trellisUsed.length, (${code})))()`;
}

/**
 * Renders a module with one schema or constant of the sources, at its position in the sources.
 *
 * @param getKey Returns the key of another declaration.
 */
export function renderOriginalModule(
  { node, references }: Pick<SourceSchema, "node" | "references">,
  getKey: (node: ts.VariableDeclaration) => string,
): string {
  const imports = [...references].map(([name, reference]) => {
    if (reference.kind === "declaration") {
      const from = ORIGINAL + getKey(reference.node);
      return `import { value as ${name} } from ${JSON.stringify(from)};`;
    }
    const from = JSON.stringify(reference.specifier);
    return reference.name === ""
      ? `import * as ${name} from ${from};`
      : `import { ${reference.name} as ${name} } from ${from};`;
  });
  const source = node.getSourceFile();
  const { line } = source.getLineAndCharacterOfPosition(node.getStart());
  return `${imports.join(" ")}${"\n".repeat(line)}export const value = ${node.getText()};\n`;
}
