import {
  type AnyNode,
  type CallExpression,
  type Expression,
  type Identifier,
  type ImportDeclaration,
  type Literal,
  type NewExpression,
  type Options,
  parse,
  type Program,
} from "acorn";

export type { AnyNode } from "acorn";

/** A function of any form. */
export type FunctionNode = Extract<AnyNode, { readonly params: unknown }>;

/** A class of any form. */
export type ClassNode = Extract<
  AnyNode,
  { readonly type: "ClassDeclaration" | "ClassExpression" }
>;

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
export function childrenOf(node: AnyNode): AnyNode[] {
  const children: AnyNode[] = [];
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

/** Checks for a function. */
export function isFunction(node: AnyNode | undefined): node is FunctionNode {
  return node !== undefined && /Function/.test(node.type);
}

/** Checks for a class. */
export function isClass(node: AnyNode): node is ClassNode {
  return node.type === "ClassDeclaration" || node.type === "ClassExpression";
}

/** Checks for code that runs later than the code around it. */
export function isDeferred(node: AnyNode): boolean {
  return isFunction(node) || isClass(node);
}

/** Checks whether a node is called: it is the function of a call, not an argument. */
export function isCallee(node: AnyNode, parent: AnyNode | undefined): parent is CallExpression {
  return parent?.type === "CallExpression" && parent.callee === node;
}

/** Returns the name that a call calls; empty for another expression. */
export function getCalleeName({ callee }: CallExpression | NewExpression): string {
  return callee.type === "Identifier" ? callee.name : "";
}

/** Checks for esbuild's `__name(value, "name")`. */
export function isNaming(node: AnyNode | undefined): node is CallExpression {
  return node?.type === "CallExpression" && /^__name\d*$/.test(getCalleeName(node));
}

/** Removes what changes no value: esbuild's `__name(value, "name")`, and chains. */
export function unwrap(node: AnyNode): AnyNode {
  if (isNaming(node)) return unwrap(node.arguments[0]);
  return node.type === "ChainExpression" ? unwrap(node.expression) : node;
}

/** Returns the name of the constant or variable that gets a value. */
export function getAssignedName(
  parent: AnyNode | undefined,
  value: AnyNode,
): string | undefined {
  const target = parent?.type === "VariableDeclarator" && parent.init === value
    ? parent.id
    : parent?.type === "AssignmentExpression" && parent.right === value
    ? parent.left
    : undefined;
  return target?.type === "Identifier" ? target.name : undefined;
}

/** Returns the text of a literal: `"a"` or a template without expressions. */
export function getText(node: AnyNode | null | undefined): string | undefined {
  if (node?.type === "Literal" && typeof node.value === "string") return node.value;
  return node?.type === "TemplateLiteral" && node.expressions.length === 0
    ? node.quasis[0].value.cooked ?? undefined
    : undefined;
}

/** Returns the name of a member that is not computed: `a` of `x.a`, `{ a: 1 }`, `{ "a": 1 }` and `class { a() {} }`. */
export function getMemberName(node: AnyNode): string | undefined {
  if (!/^(?:Property|MethodDefinition|PropertyDefinition|MemberExpression)$/.test(node.type)) {
    return undefined;
  }
  const member = node as Extract<AnyNode, { readonly computed: boolean }>;
  const key = member.type === "MemberExpression" ? member.property : member.key;
  if (key.type === "Identifier" && !member.computed) return key.name;
  return getText(key);
}

/** Returns the value of a property of an object literal. */
export function findProperty(object: AnyNode | undefined, name: string): Expression | undefined {
  if (object?.type !== "ObjectExpression") return undefined;
  const property = object.properties.findLast((each) => getMemberName(each) === name);
  return property?.type === "Property" ? property.value : undefined;
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
      name: getImportedName(each),
      local: each.local.name,
      from,
    }));
  });
}

/** Returns the exported name that an import takes; `*` for the namespace. */
export function getImportedName(each: ImportDeclaration["specifiers"][number]): string {
  if (each.type === "ImportNamespaceSpecifier") return "*";
  return each.type === "ImportDefaultSpecifier" ? "default" : getExportedName(each.imported);
}

/** Returns the name of an export, which may be a text. */
export function getExportedName(name: Identifier | Literal): string {
  return name.type === "Identifier" ? name.name : String(name.value);
}

/** A name that a module declares at its top level. */
export interface DeclaredName {
  readonly name: string;
  /** The initial value, function or class; `undefined` for a variable without a value. */
  readonly value?: AnyNode;
  readonly isExported: boolean;
}

/** Lists the names that a module declares at its top level, except those of patterns. */
export function listDeclared({ body }: Program): DeclaredName[] {
  return body.flatMap((statement): DeclaredName[] => {
    const isExported = statement.type === "ExportNamedDeclaration" ||
      statement.type === "ExportDefaultDeclaration";
    const inner = isExported ? statement.declaration : statement;
    if (inner?.type === "VariableDeclaration") {
      return inner.declarations.flatMap(({ id, init }) =>
        id.type === "Identifier" ? [{ name: id.name, value: init ?? undefined, isExported }] : []
      );
    }
    const isDeclaration = inner?.type === "FunctionDeclaration" ||
      inner?.type === "ClassDeclaration";
    return isDeclaration && inner.id !== null
      ? [{ name: inner.id.name, value: inner, isExported }]
      : [];
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
