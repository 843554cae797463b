import { type AnyNode, type Options, parse, type Program } from "acorn";

export type { AnyNode } from "acorn";

const OPTIONS: Options = {
  ecmaVersion: "latest",
  sourceType: "module",
  allowReturnOutsideFunction: true,
  allowHashBang: true,
};

/** JavaScript as a tree, in which each node knows its parent. */
export interface SyntaxTree {
  readonly code: string;
  readonly program: Program;
  /** Returns the node around a node; `undefined` for the program. */
  parentOf(node: AnyNode): AnyNode | undefined;
}

/** Parses JavaScript that esbuild wrote. */
export function parseSyntax(code: string): SyntaxTree {
  const program = parse(code, OPTIONS);
  let parents: Map<AnyNode, AnyNode> | undefined;
  return { code, program, parentOf: (node) => (parents ??= linkParents(program)).get(node) };
}

function linkParents(program: Program): Map<AnyNode, AnyNode> {
  const parents = new Map<AnyNode, AnyNode>();
  visitNodes(program, (node) => {
    for (const child of childrenOf(node)) parents.set(child, node);
  });
  return parents;
}

/** Lists the nodes directly in a node, in the order of the text. */
export function childrenOf<Node extends { readonly type: string }>(node: Node): Node[] {
  const children: Node[] = [];
  for (const value of Object.values(node)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (typeof each?.type === "string") children.push(each);
    }
  }
  return children;
}

/**
 * Visits a node and the nodes in it.
 *
 * @param enter Called with each node; `false` skips the nodes in it.
 */
export function visitNodes(node: AnyNode, enter: (node: AnyNode) => boolean | void): void {
  if (enter(node) === false) return;
  for (const child of childrenOf(node)) visitNodes(child, enter);
}

/** Checks for code that runs later than the code around it. */
export function isDeferred({ type }: AnyNode): boolean {
  return /Function|^Class(?:Declaration|Expression)$/.test(type);
}

/** Returns the text of a literal: `"a"` or a template without expressions. */
export function getText(node: AnyNode | null | undefined): string | undefined {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  return node?.type === "TemplateLiteral" && node.expressions.length === 0
    ? node.quasis[0].value.cooked ?? undefined
    : undefined;
}

/** Returns the name of a member that is not computed: `a` of `x.a`, `{ a: 1 }` and `{ "a": 1 }`. */
export function getMemberName(node: AnyNode): string | undefined {
  if (node.type !== "Property" && node.type !== "MemberExpression") return undefined;
  const key = node.type === "Property" ? node.key : node.property;
  if (key.type === "Identifier" && !node.computed) return key.name;
  return getText(key);
}

/** Checks whether an identifier is the value of a name, and not the name of a member or a label. */
export function isReference(name: AnyNode, parent: AnyNode | undefined): boolean {
  switch (parent?.type) {
    case "MemberExpression":
      return parent.object === name || parent.computed;
    case "Property":
      return parent.value === name || parent.computed;
    case "MethodDefinition":
    case "PropertyDefinition":
      return parent.value === name || parent.computed;
    case "LabeledStatement":
    case "BreakStatement":
    case "ContinueStatement":
    case "MetaProperty":
      return false;
    default:
      return true;
  }
}

/** An import of a package: `import { name as local } from "from"`; the name `*` is the namespace. */
export interface ImportedName {
  readonly name: string;
  readonly local: string;
  readonly from: string;
}

/** Lists the imports of names at the top of a module. */
export function listImports({ body }: Program): ImportedName[] {
  return body.flatMap((statement) => {
    if (statement.type !== "ImportDeclaration") return [];
    const from = String(statement.source.value);
    return statement.specifiers.map((each): ImportedName => ({
      name: each.type === "ImportNamespaceSpecifier"
        ? "*"
        : each.type === "ImportDefaultSpecifier"
        ? "default"
        : each.imported.type === "Identifier"
        ? each.imported.name
        : String(each.imported.value),
      local: each.local.name,
      from,
    }));
  });
}

/** A replacement of a part of a text. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Replaces parts of a text. Lines keep their numbers, so that a source map stays valid.
 *
 * @param edits The replacements; those in another replacement are omitted. Insertions at the same place
 * keep their order.
 */
export function applyEdits(code: string, edits: readonly Edit[]): string {
  const isInsertion = ({ start, end }: Edit) => start === end;
  const sorted = [...edits].sort((a, b) =>
    a.start - b.start || Number(isInsertion(b)) - Number(isInsertion(a)) || b.end - a.end
  );
  let result = "";
  let at = 0;
  for (const { start, end, text } of sorted) {
    if (start < at) continue;
    const lines = code.slice(start, end).split("\n").length - text.split("\n").length;
    result += code.slice(at, start) + text + "\n".repeat(Math.max(0, lines));
    at = end;
  }
  return result + code.slice(at);
}

/** Returns a name without the digits at its end, which esbuild adds to names that several things have. */
export function dropTrailingDigits(name: string): string {
  let end = name.length;
  while (end > 0 && name[end - 1] >= "0" && name[end - 1] <= "9") end--;
  return name.slice(0, end);
}
