import { type AnyNode, listChildren, unwrap } from "./syntax_nodes.ts";

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
  readonly program: AnyNode;
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
  readonly imports: readonly AnyNode[];
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
  program: AnyNode,
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

  const dynamic: AnyNode[] = [];

  function visit(node: AnyNode): void {
    switch (node.type) {
      case "ImportExpression":
        dynamic.push(node);
        break;
      case "CallExpression":
        if (/^(?:__)?require\d*$/.test(String((node.callee as AnyNode).name))) dynamic.push(node);
        break;
      case "ImportDeclaration":
        return addImport(node);
      case "Identifier":
        addIdentifier(node);
        break;
      case "AssignmentExpression": {
        // esbuild assigns the names of a module that is imported on demand
        const { name } = node.left as { name?: string };
        if (name !== undefined && !declarations.has(name)) {
          declarations.set(name, unwrap(node.right as AnyNode));
        }
        break;
      }
      case "Literal":
        if (typeof node.value === "string" && !isDecoration(parents.get(node))) {
          memberNames.add(node.value);
          if (!isNaming(parents.get(node))) readNames.add(node.value);
        }
        break;
      case "TemplateElement":
        addMember((node.value as { cooked?: string }).cooked ?? "");
        break;
      case "MemberExpression": {
        if (node.computed) break;
        const { name } = node.property as { name: string };
        addMember(name);
        const parent = parents.get(node);
        if (parent?.type === "CallExpression" && parent.callee === node) calledNames.add(name);
        break;
      }
      case "ObjectPattern":
        for (const { key } of node.properties as { key?: AnyNode }[]) {
          if (key?.type === "Identifier") addMember(key.name as string);
        }
        break;
    }
    for (const child of listChildren(node)) {
      parents.set(child, node);
      visit(child);
    }
  }

  function addMember(name: string): void {
    memberNames.add(name);
    readNames.add(name);
  }

  function addImport(node: AnyNode): void {
    const specifier = (node.source as AnyNode).value as string;
    const module = findOwnModule(specifier);
    if (module === undefined) {
      const names = (node.specifiers as AnyNode[]).map(({ local }) =>
        (local as AnyNode).name as string
      );
      packages.set(specifier, [...packages.get(specifier) ?? [], ...names]);
      return;
    }
    for (const each of node.specifiers as AnyNode[]) {
      const imported = each.type === "ImportNamespaceSpecifier"
        ? "*"
        : (each.imported as AnyNode | undefined)?.name as string ?? "default";
      imports.set((each.local as AnyNode).name as string, { module, name: imported });
    }
  }

  function addIdentifier(node: AnyNode): void {
    const parent = parents.get(node);
    const isKey = parent !== undefined && !parent.computed &&
      (parent.type === "MemberExpression" && parent.property === node ||
        /^(?:Property|MethodDefinition|PropertyDefinition)$/.test(parent.type) &&
          parent.key === node && parent.value !== node);
    if (isKey || /^(?:Export|Labeled|Break|Continue)/.test(parent?.type ?? "")) return;
    if (isDeclared(parent, node)) return;
    // const { name } = …
    const isBound = parent?.type === "Property" && parent.value === node &&
      parents.get(parent)?.type === "ObjectPattern";
    if (isBound) return;
    const name = node.name as string;
    const known = references.get(name);
    if (known === undefined) references.set(name, [node]);
    else known.push(node);
  }

  function addDeclarations(statement: AnyNode): void {
    const inner = statement.type.startsWith("Export")
      ? (statement.declaration ?? null) as AnyNode | null
      : statement;
    if (inner?.type === "VariableDeclaration") {
      for (const { id, init } of inner.declarations as { id: AnyNode; init: AnyNode | null }[]) {
        if (id.type === "Identifier" && init !== null) {
          declarations.set(id.name as string, unwrap(init));
        }
      }
    } else if (inner !== null && /^(?:Function|Class)Declaration$/.test(inner.type)) {
      declarations.set((inner.id as AnyNode).name as string, inner);
    }
  }

  for (const statement of program.body as AnyNode[]) addDeclarations(statement);
  visit(program);

  function findExport(node: AnyNode): Pick<PackageUse, "module" | "name"> | undefined {
    if (node.type === "Identifier") {
      const found = imports.get(node.name as string);
      return found?.name === "*" ? undefined : found;
    }
    if (node.type !== "MemberExpression" || node.computed) return undefined;
    const owner = node.object as AnyNode;
    const found = owner.type === "Identifier" ? imports.get(owner.name as string) : undefined;
    return found?.name === "*"
      ? { module: found.module, name: (node.property as AnyNode).name as string }
      : undefined;
  }

  const uses = [...imports].flatMap(([local, { module, name }]) =>
    (references.get(local) ?? []).map((reference): PackageUse => {
      const parent = parents.get(reference);
      const isMember = name === "*" && parent?.type === "MemberExpression" && !parent.computed &&
        parent.object === reference;
      const node = isMember ? parent : reference;
      const call = parents.get(node);
      return {
        module,
        name: isMember ? (parent.property as AnyNode).name as string : name,
        node,
        ...call?.type === "CallExpression" && call.callee === node &&
          { args: call.arguments as AnyNode[] },
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

/** Returns true for a call of esbuild that gives a function its name. */
function isNaming(parent: AnyNode | undefined): boolean {
  return parent?.type === "CallExpression" &&
    /^__name\d*$/.test(String((parent.callee as AnyNode).name));
}

/** Returns true for a call of esbuild that applies a decorator to a member, which it names. */
function isDecoration(parent: AnyNode | undefined): boolean {
  return parent?.type === "CallExpression" &&
    String((parent.callee as AnyNode).name).startsWith("__decorate");
}

/** Returns true for a name that is declared: a variable, function, class or parameter. */
function isDeclared(parent: AnyNode | undefined, node: AnyNode): boolean {
  if (parent === undefined) return false;
  if (parent.type === "VariableDeclarator") return parent.id === node;
  if (/Function|^Class/.test(parent.type)) {
    return parent.id === node || (parent.params as AnyNode[] | undefined)?.includes(node) === true;
  }
  return parent.type === "CatchClause";
}
