import type { BundleSyntax } from "./bundle_syntax.ts";
import { findFunctionName } from "./declarations.ts";
import type { LoadedFunction, PlacedDefinition } from "./loaded_function.ts";
import { type AnyNode, listChildren, unwrap } from "./syntax_nodes.ts";

/** Members of a value, from the outermost: `queries.notes.list` has the path `notes`, `list`. */
type Path = readonly string[];

/** Whether code uses a value: it does, it may because the value is handed on, or it does not. */
export type Use = "used" | "handed on" | "unused";

/** What counts as the use of a value. */
interface Question {
  readonly syntax: BundleSyntax;
  /** The uses of nodes that are being asked for. */
  readonly asked: Set<string>;
  /** Returns false for a member whose read is no use. */
  readonly countsMember: (name: string) => boolean;
  /** Returns true for a place where a value is handed on that is no use. */
  readonly isHarmless: (node: AnyNode, parent: AnyNode) => boolean;
  readonly followsInstances: boolean;
  readonly followsReturns?: boolean;
  readonly countsCalls?: boolean;
  /** Functions that nothing calls or hands on: code in them is no use. */
  readonly unused: ReadonlySet<AnyNode>;
  /** Names whose values count as handed on: other modules import them. */
  readonly exported: ReadonlySet<string>;
}

const NOTHING: ReadonlySet<never> = new Set();

/** Options of {@link findUse}. */
export interface UseOptions {
  /** A member; the value itself if it is omitted. */
  readonly member?: string;
  /** Members that only describe the value. */
  readonly metadata?: readonly string[];
  /** Returns true for a place where the value is handed on that is no use. */
  readonly isHarmless?: Question["isHarmless"];
  /** True to ask for the instances of a class, too. */
  readonly followsInstances?: boolean;
  /** True to ask for the results of the functions that return the value, too. */
  readonly followsReturns?: boolean;
  /** True if a call may use the value although nothing uses its result. */
  readonly countsCalls?: boolean;
}

/** Functions of esbuild and of the language that return their first argument. */
const IDENTITIES = /^(?:__name\d*|__toCommonJS|Object\.freeze)$/;

/**
 * Finds out whether a bundle uses the result of a definition, through constants, objects and modules that are imported on
 * demand. Code in the bundle counts as run, but not that of functions and methods which nothing names.
 */
export function findUse(
  fn: LoadedFunction,
  definition: PlacedDefinition,
  options: UseOptions = {},
): Use {
  const call = fn.findCall(definition);
  // a definition that a function of the project makes, or another package
  if (call === undefined) return "handed on";
  return findNodeUse(fn.syntax, call, options);
}

/** Like {@link findUse}, for the value of an expression. */
export function findNodeUse(syntax: BundleSyntax, node: AnyNode, options: UseOptions = {}): Use {
  const {
    member,
    metadata = [],
    isHarmless = () => false,
    followsInstances = false,
    followsReturns,
    countsCalls,
  } = options;
  return ask(
    {
      syntax,
      asked: new Set(),
      countsMember: (name) => !metadata.includes(name),
      isHarmless,
      followsInstances,
      followsReturns,
      countsCalls,
      unused: listUnusedFunctions(syntax),
      exported: NOTHING,
    },
    node,
    member === undefined ? [] : [member],
  );
}

/** Like {@link findUse}, for a name at the top level. */
export function findNameUse(syntax: BundleSyntax, name: string, options: UseOptions = {}): Use {
  return combine(
    syntax.listReferences(name).map((reference) => findNodeUse(syntax, reference, options)),
  );
}

function combine(uses: Iterable<Use>): Use {
  let result: Use = "unused";
  for (const use of uses) {
    if (use === "used") return use;
    if (use === "handed on") result = use;
  }
  return result;
}

function askName(question: Question, name: string, path: Path): Use {
  if (question.exported.has(name)) return "handed on";
  return combine(
    question.syntax.listReferences(name).map((reference) => ask(question, reference, path)),
  );
}

/** Finds out whether the member at a path of a node's value is used. */
function ask(question: Question, node: AnyNode, path: Path): Use {
  const key = `${node.start}:${node.end}:${node.type}:${path.join(".")}`;
  if (question.asked.has(key)) return "unused";
  question.asked.add(key);
  const parent = question.syntax.getParent(node);
  if (parent === undefined || question.isHarmless(node, parent)) return "unused";
  if (node.type === "Identifier" && isInUnused(question, node)) return "unused";
  switch (parent.type) {
    case "ExpressionStatement":
      return "unused";
    case "AwaitExpression":
    case "ChainExpression":
    case "LogicalExpression":
      return ask(question, parent, path);
    case "ConditionalExpression":
      return parent.test === node ? "unused" : ask(question, parent, path);
    case "SequenceExpression":
      return (parent.expressions as AnyNode[]).at(-1) === node
        ? ask(question, parent, path)
        : "unused";
    case "UnaryExpression":
    case "BinaryExpression":
      return "unused";
    case "MemberExpression":
      return askMember(question, node, parent, path);
    case "Property":
      return askProperty(question, node, parent, path);
    case "VariableDeclarator":
      return parent.init === node ? askPattern(question, parent.id as AnyNode, path) : "unused";
    case "AssignmentExpression":
      if (parent.left === node) return "unused";
      return combine([
        askPattern(question, parent.left as AnyNode, path),
        ask(question, parent, path),
      ]);
    case "ArrowFunctionExpression":
      return parent.body === node ? askArrow(question, parent, path) : "handed on";
    case "ReturnStatement":
      return askReturned(question, parent, path);
    case "CallExpression":
      return askCall(question, node, parent, path);
    case "NewExpression":
      if (parent.callee !== node) return askResult(question, parent);
      return question.followsInstances ? ask(question, parent, path) : "used";
    default:
      return "handed on";
  }
}

function askMember(question: Question, node: AnyNode, member: AnyNode, path: Path): Use {
  if (member.object !== node) return "handed on";
  const property = member.property as AnyNode;
  const name = (member.computed ? property.value : property.name) as string | undefined;
  if (typeof name !== "string") return "used";
  const call = question.syntax.getParent(member);
  if (call?.type === "CallExpression" && call.callee === member && name === "then") {
    // a promise of the value
    const [callback] = call.arguments as AnyNode[];
    const [parameter] = (callback?.params ?? []) as AnyNode[];
    if (parameter !== undefined) return askPattern(question, parameter, path);
  }
  if (path.length === 0) return question.countsMember(name) ? "used" : "unused";
  if (path[0] !== name) return "unused";
  return path.length === 1 && call?.type === "CallExpression" && call.callee === member
    ? "used"
    : ask(question, member, path.slice(1));
}

function askProperty(question: Question, node: AnyNode, property: AnyNode, path: Path): Use {
  if (property.value !== node) return "handed on";
  const key = property.key as AnyNode;
  const name = (property.computed ? undefined : key.name ?? key.value) as string | undefined;
  const object = question.syntax.getParent(property);
  if (name === undefined || object?.type !== "ObjectExpression") return "handed on";
  return ask(question, object, [String(name), ...path]);
}

/** Finds out whether a pattern takes the value at a path, and whether its names are used. */
function askPattern(question: Question, pattern: AnyNode, path: Path): Use {
  if (pattern.type === "Identifier") return askName(question, pattern.name as string, path);
  if (pattern.type !== "ObjectPattern") return "handed on";
  return combine((pattern.properties as AnyNode[]).map((property): Use => {
    if (property.type !== "Property" || property.computed) return "handed on";
    const key = property.key as AnyNode;
    const name = String(key.name ?? key.value);
    if (path.length === 0) return question.countsMember(name) ? "used" : "unused";
    if (name !== path[0]) return "unused";
    return askPattern(question, property.value as AnyNode, path.slice(1));
  }));
}

/** The result of an arrow function: a pure definition, a getter of a module, or the value of a promise. */
function askArrow(question: Question, arrow: AnyNode, path: Path): Use {
  const parent = question.syntax.getParent(arrow);
  if (parent?.type === "CallExpression") {
    if (parent.callee === arrow) return ask(question, parent, path);
    const callee = parent.callee as AnyNode;
    const isThen = callee.type === "MemberExpression" &&
      (callee.property as AnyNode).name === "then";
    return isThen ? ask(question, parent, path) : askReturned(question, arrow, path);
  }
  const object = parent && question.syntax.getParent(parent);
  const call = object && question.syntax.getParent(object);
  const [target, members] = (call?.arguments ?? []) as AnyNode[];
  const isExport = (call?.callee as AnyNode | undefined)?.name === "__export" && members === object;
  if (!isExport) return askReturned(question, arrow, path);
  const key = parent!.key as AnyNode;
  return askName(question, target.name as string, [String(key.name ?? key.value), ...path]);
}

/** The value that a statement or an arrow function returns: the result of each call of its function. */
function askReturned(question: Question, node: AnyNode, path: Path): Use {
  const { syntax } = question;
  if (!question.followsReturns) return "handed on";
  let fn = node;
  while (!/Function/.test(fn.type)) fn = syntax.getParent(fn)!;
  const name = findFunctionName(syntax, fn);
  if (name === undefined) return "handed on";
  return combine(
    syntax.listReferences(name).map((reference): Use => {
      const parent = syntax.getParent(reference);
      if (parent?.type === "CallExpression" && parent.callee === reference) {
        return ask(question, parent, path);
      }
      return parent !== undefined && question.isHarmless(reference, parent)
        ? "unused"
        : "handed on";
    }),
  );
}

function askCall(question: Question, node: AnyNode, call: AnyNode, path: Path): Use {
  const callee = call.callee as AnyNode;
  if (callee === node) return path.length === 0 ? "used" : "handed on";
  const name = callee.type === "MemberExpression"
    ? `${(callee.object as AnyNode).name}.${(callee.property as AnyNode).name}`
    : String(callee.name);
  if (IDENTITIES.test(name)) return ask(question, call, path);
  return name === "__export" ? "unused" : askResult(question, call);
}

/** A value that is handed to a call is used unless nothing uses the result, which a constant holds. */
function askResult(question: Question, call: AnyNode): Use {
  const parent = question.syntax.getParent(call);
  const holder = parent?.type === "VariableDeclarator" ? parent.id as AnyNode : undefined;
  if (holder?.type !== "Identifier" || question.countsCalls) return "handed on";
  const isUnused = question.syntax.declarations.has(holder.name as string) &&
    askName({ ...question, countsMember: () => true }, holder.name as string, []) === "unused";
  return isUnused ? "unused" : "handed on";
}

/** Checks whether code is in a function or method that nothing can call. */
function isInUnused({ syntax, unused }: Question, node: AnyNode): boolean {
  if (isInUnusedMethod(syntax, node)) return true;
  if (unused.size === 0) return false;
  for (let at = syntax.getParent(node); at !== undefined; at = syntax.getParent(at)) {
    if (unused.has(at)) return true;
  }
  return false;
}

const unusedFunctions: WeakMap<BundleSyntax, Set<AnyNode>> = new WeakMap();

/**
 * Lists the functions at the top level, those of queries, and the methods of objects, that nothing calls or hands on. It begins with all of
 * them and removes those with a use outside of the others, until nothing changes: two that only call each other remain.
 */
function listUnusedFunctions(syntax: BundleSyntax): ReadonlySet<AnyNode> {
  const known = unusedFunctions.get(syntax);
  if (known !== undefined) return known;
  const unused = new Set<AnyNode>();
  for (const statement of syntax.program.body as AnyNode[]) {
    addOuterFunctions(syntax, statement, unused);
  }
  const exported = listExportedNames(syntax.program);
  for (let before = -1; before !== unused.size;) {
    before = unused.size;
    for (const each of unused) {
      const question: Question = {
        syntax,
        asked: new Set(),
        countsMember: () => true,
        isHarmless: () => false,
        followsInstances: false,
        unused,
        exported,
      };
      const { name } = (each.type === "FunctionDeclaration" ? each.id ?? {} : {}) as {
        name?: string;
      };
      const use = name === undefined
        ? ask(question, getQuery(syntax, each) ?? each, [])
        : askName(question, name, []);
      if (use !== "unused") unused.delete(each);
    }
  }
  unusedFunctions.set(syntax, unused);
  return unused;
}

/** Methods that the language calls. */
const IMPLICIT = /^(?:then|toString|valueOf|toJSON)$/;

/** Adds the outermost functions of a node that only run if code names them. */
function addOuterFunctions(syntax: BundleSyntax, node: AnyNode, found: Set<AnyNode>): void {
  if (/Function/.test(node.type)) {
    const parent = getHolder(syntax, node);
    const isAssigned = parent.type === "VariableDeclarator" ||
      parent.type === "AssignmentExpression" && (parent.left as AnyNode).type === "Identifier";
    if (node.type === "FunctionDeclaration" || isAssigned) return void found.add(node);
    if (isPlainMethod(syntax, parent) || getQuery(syntax, node)) return void found.add(node);
  }
  for (const child of listChildren(node)) addOuterFunctions(syntax, child, found);
}

/** Returns the node around a function and esbuild's `__name(fn, "list")`. */
function getHolder(syntax: BundleSyntax, fn: AnyNode): AnyNode {
  let parent = syntax.getParent(fn)!;
  while (parent.type === "CallExpression" && unwrap(parent) === fn) {
    parent = syntax.getParent(parent)!;
  }
  return parent;
}

/** Returns the call of `(() => defineQuery(options, fn))()` for `fn`, which runs if the query is used. */
function getQuery(syntax: BundleSyntax, fn: AnyNode): AnyNode | undefined {
  const call = getHolder(syntax, fn);
  const marker = syntax.getParent(call);
  if (call.type !== "CallExpression" || marker?.type !== "ArrowFunctionExpression") {
    return undefined;
  }
  const outer = syntax.getParent(marker);
  const isMarked = outer?.type === "CallExpression" && outer.callee === marker;
  const { name } = call.callee as { name?: string };
  return isMarked && /^define(?:Prepared)?Query\d*$/.test(name ?? "") ? call : undefined;
}

/** Checks for a method of an object whose members can be followed by name. */
function isPlainMethod(syntax: BundleSyntax, property: AnyNode): boolean {
  if (property.type !== "Property" || property.computed || property.kind !== "init") return false;
  const { name, value } = property.key as { name?: string; value?: unknown };
  const object = syntax.getParent(property)!;
  const call = syntax.getParent(object);
  // modules that are imported on demand, and their getters, whose names ask() follows
  const isHelper = call?.type === "CallExpression" &&
    String((call.callee as AnyNode).name).startsWith("__");
  return object.type === "ObjectExpression" && !isHelper && !hasThis(object) &&
    !IMPLICIT.test(String(name ?? value));
}

function hasThis(node: AnyNode): boolean {
  return node.type === "ThisExpression" || node.type === "Super" ||
    listChildren(node).some(hasThis);
}

function listExportedNames(program: AnyNode): Set<string> {
  const names = new Set<string>();
  for (const statement of program.body as AnyNode[]) {
    if (!statement.type.startsWith("Export")) continue;
    for (const { local } of (statement.specifiers ?? []) as { local: AnyNode }[]) {
      names.add(local.name as string);
    }
    const declaration = statement.declaration as AnyNode | null | undefined;
    const declared = declaration?.declarations ?? [declaration];
    for (const each of declared as (AnyNode | null | undefined)[]) {
      const id = each?.id as AnyNode | null | undefined;
      if (id?.type === "Identifier") names.add(id.name as string);
    }
  }
  return names;
}

const closedClasses: WeakMap<AnyNode, boolean> = new WeakMap();

/**
 * Checks whether code is in a method that nothing can call: no code names such a member, and the class and its instances
 * are not handed to other code, which might.
 */
function isInUnusedMethod(syntax: BundleSyntax, node: AnyNode): boolean {
  for (let at = syntax.getParent(node); at !== undefined; at = syntax.getParent(at)) {
    if (at.type !== "MethodDefinition") continue;
    const { name } = at.key as { name?: string };
    const owner = syntax.getParent(syntax.getParent(at)!)!;
    const isNamed = at.kind === "method" && !at.computed && name !== undefined;
    return isNamed && !syntax.memberNames.has(name) && isClosed(syntax, owner);
  }
  return false;
}

/** Checks whether a class has no base, and neither it nor an instance is handed on. */
function isClosed(syntax: BundleSyntax, owner: AnyNode): boolean {
  let closed = closedClasses.get(owner);
  if (closed !== undefined) return closed;
  // a class that refers to itself
  closedClasses.set(owner, true);
  const names = [...syntax.declarations].filter(([, node]) => node === owner).map(([name]) => name);
  closed = names.length > 0 && owner.superClass === null && !handsOnThis(syntax, owner) &&
    names.every((name) =>
      askName(
        {
          syntax,
          asked: new Set(),
          countsMember: () => true,
          isHarmless: (_, parent) => parent.type === "MemberExpression",
          followsInstances: true,
          unused: NOTHING,
          exported: NOTHING,
        },
        name,
        [],
      ) === "unused"
    );
  closedClasses.set(owner, closed);
  return closed;
}

function handsOnThis(syntax: BundleSyntax, node: AnyNode): boolean {
  if (node.type === "ThisExpression") {
    const parent = syntax.getParent(node)!;
    if (parent.type === "MemberExpression") {
      return parent.object !== node || parent.computed === true;
    }
    // esbuild names classes in a static block
    return !IDENTITIES.test(String((parent.callee as AnyNode | undefined)?.name));
  }
  return listChildren(node).some((child) => handsOnThis(syntax, child));
}
