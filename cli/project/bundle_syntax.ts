import type {
  CallExpression,
  Identifier,
  ImportDeclaration,
  ImportExpression,
  Program,
} from "acorn";
import {
  type AnyNode,
  childrenOf,
  getCalleeName,
  getImportedName,
  getMemberName,
  isCallee,
  isClass,
  isFunction,
  isNaming,
  isReference,
  listDeclared,
  unwrap,
} from "../sources/syntax.ts";

/** Use of an export of this package in a bundle. */
export interface PackageUse {
  /** The entry point: `@trellis/fn/auth`. */
  readonly module: string;
  /** The exported name. */
  readonly name: string;
  /** The expression that names it. */
  readonly node: AnyNode;
  /** The arguments, if it is called. */
  readonly args?: readonly AnyNode[];
}

/** What the text of a bundle shows: names and their uses. esbuild gives each name at the top level one meaning. */
export interface BundleSyntax {
  readonly program: Program;
  /** Names of members that the code reads, as `.name`, in patterns and in strings. */
  readonly memberNames: ReadonlySet<string>;
  /** The same without the names that esbuild gives functions: `__name(value, "name")`. */
  readonly readNames: ReadonlySet<string>;
  /** Names of members that the code calls. */
  readonly calledNames: ReadonlySet<string>;
  /** Uses of this package. */
  readonly uses: readonly PackageUse[];
  /** Local names of the imports of other packages, by specifier. */
  readonly packages: ReadonlyMap<string, readonly string[]>;
  /** Imports on demand that esbuild has left: `import(name)`, `require(name)`. */
  readonly imports: readonly (ImportExpression | CallExpression)[];
  /** The initializer or declaration of names at the top level. */
  readonly declarations: ReadonlyMap<string, AnyNode>;
  /** Returns the node around a node. */
  getParent(node: AnyNode): AnyNode | undefined;
  /** Lists the places where a name is used. */
  listReferences(name: string): readonly AnyNode[];
  /** Returns the export of this package that an expression names. */
  findExport(node: AnyNode): Pick<PackageUse, "module" | "name"> | undefined;
}

/**
 * Reads the names of a bundle.
 *
 * @param program The syntax tree.
 * @param findOwnModule Returns the entry point of this package that a specifier names, if it names one.
 */
export function readBundleSyntax(
  program: Program,
  findOwnModule: (specifier: string) => string | undefined,
): BundleSyntax {
  const parents = new Map<AnyNode, AnyNode>();
  const references = new Map<string, AnyNode[]>();
  const memberNames = new Set<string>();
  const readNames = new Set<string>();
  const calledNames = new Set<string>();
  const imports = new Map<string, Pick<PackageUse, "module" | "name">>();
  const packages = new Map<string, string[]>();
  const declarations = new Map<string, AnyNode>();

  const dynamic: (ImportExpression | CallExpression)[] = [];

  function visit(node: AnyNode): void {
    switch (node.type) {
      case "ImportExpression":
        dynamic.push(node);
        break;
      case "CallExpression":
        if (/^(?:__)?require\d*$/.test(getCalleeName(node))) dynamic.push(node);
        break;
      case "ImportDeclaration":
        return addImport(node);
      case "Identifier":
        addIdentifier(node);
        break;
      case "AssignmentExpression":
        // esbuild assigns the names of a module that is imported on demand
        if (node.left.type === "Identifier" && !declarations.has(node.left.name)) {
          declarations.set(node.left.name, unwrap(node.right));
        }
        break;
      case "Literal":
        if (typeof node.value === "string" && !isDecoration(parents.get(node))) {
          memberNames.add(node.value);
          if (!isNaming(parents.get(node))) readNames.add(node.value);
        }
        break;
      case "TemplateElement":
        addMember(node.value.cooked ?? "");
        break;
      case "MemberExpression": {
        const name = node.computed ? undefined : getMemberName(node);
        if (name === undefined) break;
        addMember(name);
        if (isCallee(node, parents.get(node))) calledNames.add(name);
        break;
      }
      case "ObjectPattern":
        for (const property of node.properties) {
          if (property.type === "Property" && property.key.type === "Identifier") {
            addMember(property.key.name);
          }
        }
        break;
    }
    for (const child of childrenOf(node)) {
      parents.set(child, node);
      visit(child);
    }
  }

  function addMember(name: string): void {
    memberNames.add(name);
    readNames.add(name);
  }

  function addImport(node: ImportDeclaration): void {
    const specifier = String(node.source.value);
    const module = findOwnModule(specifier);
    if (module === undefined) {
      const names = node.specifiers.map(({ local }) => local.name);
      packages.set(specifier, [...packages.get(specifier) ?? [], ...names]);
      return;
    }
    for (const each of node.specifiers) {
      imports.set(each.local.name, { module, name: getImportedName(each) });
    }
  }

  function addIdentifier(node: Identifier): void {
    const parent = parents.get(node);
    if (!isReference(node, parent) || /^Export/.test(parent?.type ?? "")) return;
    if (isDeclared(parent, node)) return;
    // const { name } = …
    const isBound = parent?.type === "Property" && parent.value === node &&
      parents.get(parent)?.type === "ObjectPattern";
    if (isBound) return;
    const known = references.get(node.name);
    if (known === undefined) references.set(node.name, [node]);
    else known.push(node);
  }

  for (const { name, value } of listDeclared(program)) {
    if (value !== undefined) declarations.set(name, unwrap(value));
  }
  visit(program);

  function findExport(node: AnyNode): Pick<PackageUse, "module" | "name"> | undefined {
    if (node.type === "Identifier") {
      const found = imports.get(node.name);
      return found?.name === "*" ? undefined : found;
    }
    if (node.type !== "MemberExpression" || node.object.type !== "Identifier") return undefined;
    const found = imports.get(node.object.name);
    const name = node.computed ? undefined : getMemberName(node);
    return found?.name === "*" && name !== undefined ? { module: found.module, name } : undefined;
  }

  const uses = [...imports].flatMap(([local, { module, name }]) =>
    (references.get(local) ?? []).map((reference): PackageUse => {
      const parent = parents.get(reference);
      const member = name === "*" && parent !== undefined ? findExport(parent) : undefined;
      const node = member === undefined ? reference : parent!;
      const call = parents.get(node);
      return {
        module,
        name: member?.name ?? name,
        node,
        ...isCallee(node, call) && { args: call.arguments },
      };
    })
  );
  return {
    program,
    imports: dynamic,
    memberNames,
    readNames,
    calledNames,
    uses,
    packages,
    declarations,
    getParent: (node) => parents.get(node),
    listReferences: (name) => references.get(name) ?? [],
    findExport,
  };
}

/** Returns true for a call of esbuild that applies a decorator to a member, which it names. */
function isDecoration(parent: AnyNode | undefined): boolean {
  return parent?.type === "CallExpression" && getCalleeName(parent).startsWith("__decorate");
}

/** Returns true for a name that is declared: a variable, function, class or parameter. */
function isDeclared(parent: AnyNode | undefined, node: AnyNode): boolean {
  if (parent === undefined) return false;
  if (parent.type === "VariableDeclarator") return parent.id === node;
  if (isFunction(parent)) {
    return parent.id === node || parent.params.some((each) => each === node);
  }
  return parent.type === "CatchClause" || isClass(parent) && parent.id === node;
}
