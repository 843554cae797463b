import { isTrellis } from "../../sources/package_specifier.ts";
import type { OwnCode } from "../../sources/own_code.ts";
import {
  type AnyNode,
  childrenOf,
  getMemberName,
  type ImportedName,
  isDeferred,
  isReference,
  listImports,
  visitNodes,
} from "../../sources/syntax.ts";
import { getRoot, isZodImport, LABEL } from "./label_schemas.ts";

/** Code that keeps zod in a function. */
export interface ZodUse {
  readonly node: AnyNode;
  readonly message: string;
}

/** A schema that a function uses. */
export interface UsedSchema {
  /** The variable with it; omitted for a schema in the options of a handler. */
  readonly name?: string;
  readonly node: AnyNode;
}

/** The schemas of a function. */
export interface FunctionSchemas {
  /** The schemas that it uses, by label. */
  readonly used: ReadonlyMap<number, UsedSchema>;
  /** Labels of code that can be omitted if its value is not used. */
  readonly omittable: ReadonlySet<number>;
  /** Uses of zod that need it. */
  readonly uses: readonly ZodUse[];
  /** Renders a module that exports `schemas`, with zod: the schemas by key. */
  renderSchemas(getKey: (label: number) => string): string;
  /** The specifiers of zod that the schemas are made with. */
  readonly specifiers: ReadonlySet<string>;
}

/** Methods of a schema that do not need zod for values that fit. */
const FAST_METHODS: ReadonlySet<string> = new Set(["parse", "safeParse", "safeParseAsync"]);

/** Members of zod with an effect, that read the state of the process, or that run a schema. */
const DENIED: ReadonlySet<string> = new Set(
  ("config setErrorMap registry globalRegistry register locales compile custom function _function lazy promise " +
    "parse parseAsync safeParse safeParseAsync validate validateAsync decode decodeAsync encode encodeAsync " +
    "safeDecode safeDecodeAsync safeEncode safeEncodeAsync assign add set delete clear push pop shift unshift " +
    "splice sort reverse fill copyWithin __proto__ constructor prototype").split(" "),
);

/** Functions of zod that keep a function, and call it only for values. */
const KEEP_FUNCTIONS: ReadonlySet<string> = new Set(
  "refine superRefine transform preprocess overwrite default prefault catch custom lazy".split(" "),
);

const CONSTANTS: ReadonlySet<string> = new Set(["undefined", "NaN", "Infinity"]);

/** The reason why the value of an expression is not known. */
class NotKnown extends Error {
  constructor(readonly node: AnyNode, message: string) {
    super(message);
  }
}

/** A variable of linked code that is never assigned again. */
interface Variable {
  readonly declarator: AnyNode;
  readonly value: AnyNode;
}

/** A labelled call. */
interface Labelled {
  readonly label: number;
  readonly value: AnyNode;
}

/**
 * Reads the schemas of a function from its linked code. Known are literals in the expression itself,
 * primitive constants, and other schemas that no code can reach. The whole function is read, so that
 * nothing that could change a schema is missed.
 */
export function readSchemas(code: OwnCode): FunctionSchemas {
  const zod = new Map<string, ImportedName>();
  const trellis = new Set<string>();
  const variablesByName = new Map<string, Variable>();
  const knownNodes = new Map<AnyNode, NotKnown | boolean>();
  const seen = new Set<string>();
  const usedSchemas = new Map<number, UsedSchema>();
  const omittable = new Set<number>();
  const uses: ZodUse[] = [];
  for (const each of listImports(code.program)) {
    if (isZodImport(each.from, each.name)) zod.set(each.local, each);
    else if (isTrellis(each.from)) trellis.add(each.local);
  }
  const assigned = listAssigned(code.program);
  for (const statement of code.program.body) {
    if (statement.type !== "VariableDeclaration") continue;
    for (const declarator of statement.declarations) {
      const { id, init } = declarator;
      if (id.type !== "Identifier" || !init || assigned.has(id.name)) continue;
      variablesByName.set(id.name, { declarator, value: init });
    }
  }
  visitNodes(code.program, (node) => {
    const labelled = readLabel(node);
    if (labelled !== undefined && isOmittable(labelled.value)) omittable.add(labelled.label);
  });
  for (const statement of code.program.body) {
    if (statement.type !== "VariableDeclaration") visit(statement);
    else {
      for (const each of statement.declarations) {
        if (!isDeferrable(each)) visit(each);
      }
    }
  }
  const { imports, variables } = listNeeded();
  const specifiers = new Set(imports.map(({ from }) => from));
  return { used: usedSchemas, omittable, uses, specifiers, renderSchemas };

  function renderSchemas(getKey: (label: number) => string): string {
    const members = [...usedSchemas].map(([label, { name, node }]) =>
      `${JSON.stringify(getKey(label))}: ${name ?? textOf(node)}`
    );
    return [
      ...imports.map(renderImport),
      // names the innermost schema that fails
      `const ${LABEL} = (label, create) => {
        try { return create(); } catch (error) { throw Object.assign(error, { label: error.label ?? label }); }
      };`,
      ...variables.map(({ declarator }) => `const ${textOf(declarator)};`),
      `export const schemas = { ${members.join(", ")} };\n`,
    ].join("\n");
  }

  /** Lists what the used schemas are made of, in the order of the code. */
  function listNeeded(): { imports: ImportedName[]; variables: Variable[] } {
    const imports = new Set<ImportedName>();
    const variables = new Set<Variable>();
    const collectName = (name: string): void => {
      const imported = zod.get(name);
      if (imported !== undefined) imports.add(imported);
      const variable = variablesByName.get(name);
      if (variable === undefined || variables.has(variable)) return;
      variables.add(variable);
      collect(variable.value);
    };
    const collect = (root: AnyNode): void =>
      visitNodes(root, (node) => {
        const isName = node.type === "Identifier" && isReference(node, code.parentOf(node));
        if (isName) collectName(node.name);
      });
    for (const { name, node } of usedSchemas.values()) {
      if (name !== undefined) collectName(name);
      else collect(node);
    }
    return {
      imports: [...imports],
      variables: [...variables].sort((a, b) => a.declarator.start - b.declarator.start),
    };
  }

  function textOf({ start, end }: AnyNode): string {
    return code.code.slice(start, end);
  }

  /** Checks for a schema that has an effect only where its variable is used. */
  function isDeferrable({ id, init }: { id: AnyNode; init?: AnyNode | null }): boolean {
    const labelled = readLabel(init);
    return id.type === "Identifier" && labelled !== undefined && variablesByName.has(id.name) &&
      isSchema(labelled.value) && omittable.has(labelled.label);
  }

  /** Visits code that runs. */
  function visit(root: AnyNode): void {
    visitNodes(root, (node) => {
      const labelled = readLabel(node);
      if (labelled !== undefined) return visitLabelled(node, labelled);
      if (node.type === "ImportDeclaration") return false;
      if (node.type === "ExportNamedDeclaration") {
        // nothing imports a bundle but the runtime, which calls the handler
        for (const { local } of node.specifiers) {
          if (local.type === "Identifier") visitName(local, false);
        }
        return false;
      }
      const isDefined = node.type === "MethodDefinition" || node.type === "PropertyDefinition";
      if (
        getMemberName(node) === "schema" && !isDefined &&
        !isWritten(node, code.parentOf(node))
      ) {
        uses.push({ node, message: "a schema is read from an object" });
      }
      if (node.type === "Identifier" && isReference(node, code.parentOf(node))) {
        if (node.name === "eval") uses.push({ node, message: "eval is used" });
        else visitName(node, true);
      }
    });
  }

  function visitLabelled(node: AnyNode, { label, value }: Labelled): boolean {
    if (!isSchema(value)) return true;
    const known = readKnown(value);
    if (known instanceof NotKnown) uses.push(known);
    else addUse(node, label, { node: value }, true);
    return false;
  }

  function visitName(name: AnyNode & { type: "Identifier" }, isChecked: boolean): void {
    const { parentOf } = code;
    const parent = parentOf(name);
    if (parent?.type === "VariableDeclarator" && parent.id === name) return;
    if (zod.has(name.name)) {
      let around = parent;
      while (around !== undefined && !isDeferred(around)) around = parentOf(around);
      const advice = around === undefined
        ? "zod is used as a value"
        : "zod is used in a function: move the schema to a const of the module";
      uses.push({ node: name, message: advice });
      return;
    }
    const variable = variablesByName.get(name.name);
    const labelled = readLabel(variable?.value);
    if (variable === undefined || labelled === undefined || !isSchema(labelled.value)) return;
    const known = readKnown(labelled.value);
    if (!(known instanceof NotKnown)) {
      const used = { name: name.name, node: labelled.value };
      addUse(name, labelled.label, used, isChecked);
    } else if (!seen.has(name.name)) {
      seen.add(name.name);
      uses.push(known);
    }
  }

  function addUse(node: AnyNode, label: number, used: UsedSchema, isChecked: boolean): void {
    if (isChecked && !isFastUse(node)) {
      const text = node.type === "Identifier" ? node.name : "a schema";
      uses.push({
        node,
        message: `${text} is used as a value: only options and parse() need no zod`,
      });
    } else usedSchemas.set(label, used);
  }

  /** Returns true for `Note.parse(value)`, and for arguments and options of this package. */
  function isFastUse(value: AnyNode): boolean {
    const { parentOf } = code;
    let node = value;
    let parent = parentOf(node)!;
    if (parent.type === "MemberExpression" && parent.object === node) {
      const call = parentOf(parent)!;
      return FAST_METHODS.has(getMemberName(parent) ?? "") && call.type === "CallExpression" &&
        call.callee === parent && call.arguments.length === 1 &&
        call.arguments[0].type !== "SpreadElement";
    }
    while (
      parent.type === "Property" && parent.value === node || parent.type === "ObjectExpression" ||
      parent.type === "ArrayExpression"
    ) {
      node = parent;
      parent = parentOf(node)!;
    }
    if (parent.type !== "CallExpression" || parent.callee === node) return false;
    const root = getRoot(parent.callee);
    return root.type === "Identifier" && trellis.has(root.name);
  }

  /** Checks whether an expression starts at zod. */
  function isSchema(node: AnyNode): boolean {
    const root = getRoot(readLabel(node)?.value ?? node);
    if (root.type !== "Identifier") return false;
    if (zod.has(root.name)) return true;
    const { declarator, value } = variablesByName.get(root.name) ?? {};
    return value !== undefined && declarator!.end <= node.start && readLabel(value) !== undefined &&
      isSchema(value);
  }

  /** Reads an expression: true for a schema, false for other known values. */
  function readKnown(node: AnyNode): NotKnown | boolean {
    let known = knownNodes.get(node);
    if (known === undefined) {
      try {
        known = check(node);
      } catch (error) {
        if (!(error instanceof NotKnown)) throw error;
        known = error;
      }
      knownNodes.set(node, known);
    }
    return known;
  }

  /** Checks an expression; returns true if it is made with zod. */
  function check(given: AnyNode): boolean {
    const node = readLabel(given)?.value ?? given;
    if (isPrimitive(node) || node.type === "Literal") return false;
    switch (node.type) {
      case "Identifier":
        return checkName(node);
      case "ArrayExpression":
      case "ObjectExpression":
        return [...childrenOf(node)].map((each) => check(each)).includes(true);
      case "SpreadElement":
        return check(node.argument);
      case "Property":
        if (node.computed || node.kind !== "init" || getMemberName(node) === "__proto__") break;
        return check(node.value);
      case "MemberExpression": {
        const name = getMemberName(node);
        if (name === undefined || node.optional) break;
        if (DENIED.has(name)) throw new NotKnown(node.property, `${name} is used`);
        if (checkObject(node.object)) return true;
        break;
      }
      case "CallExpression": {
        const { callee } = node;
        if (node.optional || callee.type !== "Identifier" && callee.type !== "MemberExpression") {
          break;
        }
        if (callee.type === "Identifier" && DENIED.has(zod.get(callee.name)?.name ?? "")) {
          throw new NotKnown(callee, `${callee.name} is used`);
        }
        if (!checkObject(callee)) break;
        for (const each of node.arguments) {
          if (each.type === "SpreadElement") throw notKnown(each);
          check(each);
        }
        return true;
      }
    }
    throw notKnown(node);
  }

  /** Checks what a member or a call starts at: zod, or a value that is made with it. */
  function checkObject(node: AnyNode): boolean {
    return node.type === "Identifier" && zod.has(node.name) || check(node);
  }

  /** Checks a name: a schema, since others are primitive. */
  function checkName(node: AnyNode & { type: "Identifier" }): boolean {
    const { name } = node;
    const variable = variablesByName.get(name);
    if (zod.has(name)) throw new NotKnown(node, "zod is used as a value");
    if (variable === undefined) {
      throw new NotKnown(node, `${name} is not a constant of the project`);
    }
    const { declarator, value } = variable;
    if (declarator.end > node.start) throw new NotKnown(node, `${name} is used before it is set`);
    if (!isSchema(value)) {
      throw new NotKnown(declarator, `${name} can be changed: write its value into the schema`);
    }
    const known = readKnown(readLabel(value)!.value);
    if (known instanceof NotKnown) throw known;
    return known;
  }

  /** Checks for a literal, arithmetic of them, or a variable with such a value, which cannot change. */
  function isPrimitive(node: AnyNode): boolean {
    switch (node.type) {
      case "Literal":
        return !("regex" in node && node.regex);
      case "TemplateLiteral":
        return node.expressions.length === 0;
      case "UnaryExpression":
        return /^[-+!~]$|^void$/.test(node.operator) && isPrimitive(node.argument);
      case "BinaryExpression":
        return /^(?:\+|-|\*\*?|\/|%)$/.test(node.operator) && isPrimitive(node.left) &&
          isPrimitive(node.right);
      case "Identifier": {
        const variable = variablesByName.get(node.name);
        return variable === undefined
          ? CONSTANTS.has(node.name)
          : variable.declarator.end <= node.start && isPrimitive(variable.value);
      }
      default:
        return false;
    }
  }

  function notKnown(node: AnyNode): NotKnown {
    if (/Function/.test(node.type)) return new NotKnown(node, "a function is used");
    const text = textOf(node).replace(/\s+/g, " ");
    return new NotKnown(
      node,
      `${text.length <= 40 ? text : `${text.slice(0, 39)}…`} is not a constant`,
    );
  }

  /**
   * Checks that the creation of a schema has no effect, so that it can be omitted if it is not used.
   * Unlike a known value it may contain functions and other values.
   */
  function isOmittable(given: AnyNode): boolean {
    const node = readLabel(given)?.value ?? given;
    if (node.type === "Identifier") {
      return zod.has(node.name) ||
        isSchema(node) && isOmittable(variablesByName.get(node.name)!.value);
    }
    if (node.type === "MemberExpression") {
      const name = getMemberName(node);
      return name !== undefined && !node.optional &&
        (!DENIED.has(name) || KEEP_FUNCTIONS.has(name)) && isOmittable(node.object);
    }
    if (node.type !== "CallExpression" || node.optional) return false;
    const { callee } = node;
    const name = getMemberName(callee) ??
      (callee.type === "Identifier" ? zod.get(callee.name)?.name : undefined);
    const keepsFunctions = KEEP_FUNCTIONS.has(name ?? "");
    return name !== undefined && (!DENIED.has(name) || keepsFunctions) &&
      isOmittable(callee) &&
      node.arguments.every((each) =>
        isSimple(each) || keepsFunctions && /Function/.test(each.type)
      );
  }

  function isSimple(given: AnyNode): boolean {
    const node = readLabel(given)?.value ?? given;
    switch (node.type) {
      case "ArrayExpression":
      case "ObjectExpression":
        return [...childrenOf(node)].every((each) => isSimple(each));
      case "Property":
        return !node.computed && node.kind === "init" && isSimple(node.value);
      case "Identifier":
      case "Literal":
        return true;
      default:
        return isPrimitive(node) || isOmittable(node);
    }
  }
}

function readLabel(node: AnyNode | null | undefined): Labelled | undefined {
  if (node?.type !== "CallExpression" || node.callee.type !== "Identifier") return undefined;
  if (node.callee.name !== LABEL) return undefined;
  const [label, create] = node.arguments;
  return {
    label: Number((label as { value?: unknown }).value),
    value: (create as { body: AnyNode }).body,
  };
}

/** Lists the names that are assigned after their declaration. */
function listAssigned(program: AnyNode): ReadonlySet<string> {
  const names = new Set<string>();
  const add = (target: AnyNode): void => {
    if (target.type === "Identifier") names.add(target.name);
    else if (target.type !== "MemberExpression") {
      for (const each of childrenOf(target)) {
        add(each);
      }
    }
  };
  visitNodes(program, (node) => {
    if (node.type === "AssignmentExpression") add(node.left);
    else if (node.type === "UpdateExpression") add(node.argument);
    else if (node.type === "ForInStatement" || node.type === "ForOfStatement") {
      if (node.left.type !== "VariableDeclaration") add(node.left);
    }
  });
  return names;
}

/** Returns true for `{ schema: value }`, which reads nothing. */
function isWritten(node: AnyNode, parent: AnyNode | undefined): boolean {
  return node.type === "Property" && parent?.type === "ObjectExpression";
}

function renderImport({ name, local, from }: ImportedName): string {
  const source = JSON.stringify(from);
  return name === "*"
    ? `import * as ${local} from ${source};`
    : `import { ${name} as ${local} } from ${source};`;
}
