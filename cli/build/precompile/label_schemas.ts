import { createHash } from "node:crypto";
import { isTrellis, toBareSpecifier } from "../../sources/package_specifier.ts";
import type { SourceEditor, SourceModule } from "../../sources/edited_sources.ts";
import type { ModulePaths } from "../../sources/module_paths.ts";
import {
  type AnyNode,
  childrenOf,
  type Edit,
  isDeferred,
  listImports,
} from "../../sources/syntax.ts";

/** The function that marks a call in linked code: `__trellisSchema(3, () => z.object({}))`. */
export const LABEL = "__trellisSchema";

const ZOD_MODULES: ReadonlySet<string> = new Set(["zod", "zod/mini", "zod/v4", "zod/v4-mini"]);

/** Returns true for an export of zod, and for `z` of this package. */
export function isZodImport(from: string, name: string): boolean {
  return ZOD_MODULES.has(from) || isTrellis(from) && name === "z";
}

/** A call of a module that may create a schema when the module is loaded. */
interface Candidate {
  readonly label: number;
  readonly start: number;
  readonly end: number;
}

/** What becomes of a call: a compiled schema, code that is omitted if it is not used, or nothing. */
export type LabelChange = "compiled" | "omittable" | undefined;

/** Labels the calls that may create schemas, so that they are found again in linked code. */
export class SchemaLabels {
  readonly #paths: ModulePaths;
  readonly #candidates = new Map<string, readonly Candidate[]>();
  readonly #keys = new Map<number, string>();

  constructor(paths: ModulePaths) {
    this.#paths = paths;
  }

  /** Returns the file of a call with its name or position: `src/notes.ts#Note`, `src/a.ts#12:3`. */
  getKey(label: number): string {
    return this.#keys.get(label)!;
  }

  /** Creates the editor that labels the calls. */
  createLabelEditor(): SourceEditor {
    return this.#createEditor((label) => [`${LABEL}(${label}, () => `, ")"]);
  }

  /**
   * Creates the editor that replaces the calls.
   *
   * @param getImport Returns the import of a compiled schema by its name.
   */
  createCompiledEditor(
    getChange: (label: number) => LabelChange,
    getImport: (label: number, name: string) => string,
  ): SourceEditor {
    const imports: string[] = [];
    const editor = this.#createEditor((label) => {
      const change = getChange(label);
      if (change === "omittable") return ["/* @__PURE__ */ (() => ", ")()"];
      if (change === undefined) return undefined;
      const name = `${LABEL}${label}`;
      imports.push(getImport(label, name));
      return name;
    });
    return {
      wants: editor.wants,
      edit(module) {
        imports.length = 0;
        const { edits } = editor.edit(module);
        return { edits, appended: imports.map((each) => `\n${each}`).join("") };
      },
    };
  }

  /** @param change Returns the code around a call, or what replaces it. */
  #createEditor(
    change: (label: number) => readonly [before: string, after: string] | string | undefined,
  ): SourceEditor {
    return {
      wants: (path) => this.#paths.getPackage(path) === undefined && !/\.c[jt]s$/.test(path),
      edit: (module) => {
        const before: Edit[] = [];
        const after: Edit[] = [];
        let at = 0;
        for (const { label, start, end } of this.#find(module)) {
          // in a call that was replaced
          if (start < at) continue;
          const code = change(label);
          if (typeof code === "string") {
            before.push({ start, end, text: code });
            at = end;
          } else if (code !== undefined) {
            before.push({ start, end: start, text: code[0] });
            after.unshift({ start: end, end, text: code[1] });
          }
        }
        return { edits: [...before, ...after] };
      },
    };
  }

  #find(module: SourceModule): readonly Candidate[] {
    const known = this.#candidates.get(module.path);
    if (known !== undefined) return known;
    const found = findCalls(module).map(({ node, name }): Candidate => {
      const { file, line, column } = module.findPosition(node.start)!;
      const label = this.#createLabel(`${file}:${node.start}:${node.end}`);
      this.#keys.set(label, `${file}#${name ?? `${line}:${column}`}`);
      return { label, start: node.start, end: node.end };
    });
    this.#candidates.set(module.path, found);
    return found;
  }

  /**
   * Returns a number that depends on the place of a call only: esbuild loads modules in any order, and
   * equal sources must give equal bundles. Odd numbers are always printed with all digits.
   */
  #createLabel(place: string): number {
    let label = (createHash("sha256").update(place).digest().readUInt32BE() | 1) >>> 0;
    while (this.#keys.has(label)) label = (label + 2) >>> 0;
    return label;
  }
}

/** Finds the calls that start at an import or a variable of the module, in the order of their starts. */
function findCalls({ program, parentOf }: SourceModule): { node: AnyNode; name?: string }[] {
  const isModule = program.body.some(({ type }) => /^(?:Import|Export)/.test(type));
  if (!isModule) return [];
  const imports = listImports(program).map((each) => ({
    ...each,
    from: toBareSpecifier(each.from),
  }));
  const zod = new Set(imports.filter(({ from, name }) => isZodImport(from, name)).map(getLocal));
  const roots = new Set([...zod, ...imports.filter(({ from }) => !isTrellis(from)).map(getLocal)]);
  const found: { node: AnyNode; name?: string }[] = [];

  for (const statement of program.body) {
    const inner = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement;
    if (inner?.type !== "VariableDeclaration") continue;
    for (const { id } of inner.declarations) if (id.type === "Identifier") roots.add(id.name);
  }
  const visit = (node: AnyNode): void => {
    if (isDeferred(node)) return;
    if (node.type === "CallExpression" && !containsAwait(node)) {
      const root = getRoot(node);
      if (root.type === "Identifier" && roots.has(root.name)) {
        found.push({ node, name: getDeclaredName(node, parentOf) });
        if (!zod.has(root.name)) listChainArguments(node).forEach(visit);
        return;
      }
    }
    for (const child of childrenOf(node)) visit(child);
  };
  visit(program);
  return found;
}

/**
 * Lists the arguments of all calls of a chain, in their order. The chain itself gets one label: the
 * start of `Note.omit(a).extend(b)` is found through it.
 */
function listChainArguments(node: AnyNode): AnyNode[] {
  if (node.type === "CallExpression") {
    return [...listChainArguments(node.callee), ...node.arguments];
  }
  if (node.type !== "MemberExpression") return [];
  return [...listChainArguments(node.object), ...node.computed ? [node.property] : []];
}

const getLocal = ({ local }: { readonly local: string }): string => local;

function containsAwait(node: AnyNode): boolean {
  return node.type === "AwaitExpression" ||
    !isDeferred(node) && [...childrenOf(node)].some(containsAwait);
}

/** Returns the name of the variable of the module that a call is the value of. */
function getDeclaredName(
  node: AnyNode,
  parentOf: (node: AnyNode) => AnyNode | undefined,
): string | undefined {
  const parent = parentOf(node);
  if (parent?.type !== "VariableDeclarator" || parent.id.type !== "Identifier") return undefined;
  const statement = parentOf(parentOf(parent)!)!;
  const isTop = statement.type === "Program" || statement.type === "ExportNamedDeclaration";
  return isTop ? parent.id.name : undefined;
}

/** Returns the start of a chain: `z` of `z.string().min(1)`. */
export function getRoot(node: AnyNode): AnyNode {
  let root = node;
  for (;;) {
    if (root.type === "CallExpression") root = root.callee;
    else if (root.type === "MemberExpression") root = root.object;
    else return root;
  }
}
