import type {
  AssignmentProperty,
  CallExpression,
  MemberExpression,
  Pattern,
  Program,
  Property,
} from "acorn";
import {
  type AnyNode,
  childrenOf,
  getAssignedName,
  getCalleeName,
  getExportedName,
  getMemberName,
  isCallee,
  isClass,
  isFunction,
  listDeclared,
  unwrap,
} from "../sources/syntax.ts";
import type { BundleSyntax } from "./bundle_syntax.ts";
import { findFunctionName } from "./declarations.ts";
import type { LoadedFunction, PlacedDefinition } from "./loaded_function.ts";

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
  /** True to ask for the instances of a class, too. */
  readonly followsInstances?: boolean;
  /** True to ask for the results of the functions that return the value, too. */
  readonly followsReturns?: boolean;
  /** True if a call may use the value although nothing uses its result. */
  readonly countsCalls?: boolean;
  /** Functions that nothing calls or hands on: code in them is no use. */
  readonly unused: ReadonlySet<AnyNode>;
  /** Names whose values count as handed on: other modules import them. */
  readonly exported: ReadonlySet<string>;
}

const NOTHING: ReadonlySet<never> = new Set();

/** Returns a question for every use of a value, also in code that nothing calls. */
function createQuestion(syntax: BundleSyntax, parts: Partial<Question>): Question {
  return {
    syntax,
    asked: new Set(),
    countsMember: () => true,
    isHarmless: () => false,
    unused: NOTHING,
    exported: NOTHING,
    ...parts,
  };
}

/** Options of {@link findUse}. */
export interface UseOptions extends
  Partial<
    Pick<Question, "isHarmless" | "followsInstances" | "followsReturns" | "countsCalls">
  > {
  /** A member; the value itself if it is omitted. */
  readonly member?: string;
  /** Members that only describe the value. */
  readonly metadata?: readonly string[];
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
  const { member, metadata = [], ...parts } = options;
  const question = createQuestion(syntax, {
    ...parts,
    countsMember: (name) => !metadata.includes(name),
    unused: listUnusedFunctions(syntax),
  });
  return ask(question, node, member === undefined ? [] : [member]);
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
      return parent.expressions.at(-1) === node ? ask(question, parent, path) : "unused";
    case "UnaryExpression":
    case "BinaryExpression":
      return "unused";
    case "MemberExpression":
      return askMember(question, node, parent, path);
    case "Property":
      return askProperty(question, node, parent, path);
    case "VariableDeclarator":
      return parent.init === node ? askPattern(question, parent.id, path) : "unused";
    case "AssignmentExpression":
      if (parent.left === node) return "unused";
      return combine([
        askPattern(question, parent.left, path),
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

function askMember(question: Question, node: AnyNode, member: MemberExpression, path: Path): Use {
  if (member.object !== node) return "handed on";
  const name = getMemberName(member);
  if (name === undefined) return "used";
  const call = question.syntax.getParent(member);
  if (isCallee(member, call) && name === "then") {
    // a promise of the value
    const [callback] = call.arguments;
    const [parameter] = isFunction(callback) ? callback.params : [];
    if (parameter !== undefined) return askPattern(question, parameter, path);
  }
  if (path.length === 0) return question.countsMember(name) ? "used" : "unused";
  if (path[0] !== name) return "unused";
  return path.length === 1 && isCallee(member, call)
    ? "used"
    : ask(question, member, path.slice(1));
}

function askProperty(
  question: Question,
  node: AnyNode,
  property: Property | AssignmentProperty,
  path: Path,
): Use {
  if (property.value !== node) return "handed on";
  const name = getMemberName(property);
  const object = question.syntax.getParent(property);
  if (name === undefined || object?.type !== "ObjectExpression") return "handed on";
  return ask(question, object, [name, ...path]);
}

/** Finds out whether a pattern takes the value at a path, and whether its names are used. */
function askPattern(question: Question, pattern: Pattern, path: Path): Use {
  if (pattern.type === "Identifier") return askName(question, pattern.name, path);
  if (pattern.type !== "ObjectPattern") return "handed on";
  return combine(pattern.properties.map((property): Use => {
    const name = getMemberName(property);
    if (property.type !== "Property" || name === undefined) return "handed on";
    if (path.length === 0) return question.countsMember(name) ? "used" : "unused";
    if (name !== path[0]) return "unused";
    return askPattern(question, property.value, path.slice(1));
  }));
}

/** The result of an arrow function: a pure definition, a getter of a module, or the value of a promise. */
function askArrow(question: Question, arrow: AnyNode, path: Path): Use {
  const { syntax } = question;
  const parent = syntax.getParent(arrow);
  if (parent?.type === "CallExpression") {
    const isThen = parent.callee !== arrow && getMemberName(parent.callee) === "then";
    return isCallee(arrow, parent) || isThen
      ? ask(question, parent, path)
      : askReturned(question, arrow, path);
  }
  const exported = parent && findExportGetter(syntax, parent);
  return exported === undefined
    ? askReturned(question, arrow, path)
    : askName(question, exported.module, [exported.name, ...path]);
}

/** Reads a property of esbuild's `__export(module, { read: () => read })`. */
export function findExportGetter(
  syntax: BundleSyntax,
  property: AnyNode,
): { readonly module: string; readonly name: string } | undefined {
  const name = property.type === "Property" ? getMemberName(property) : undefined;
  const object = name === undefined ? undefined : syntax.getParent(property);
  const call = object && syntax.getParent(object);
  if (call?.type !== "CallExpression" || getCalleeName(call) !== "__export") return undefined;
  const [module] = call.arguments;
  return module.type === "Identifier" ? { module: module.name, name: name! } : undefined;
}

/** The value that a statement or an arrow function returns: the result of each call of its function. */
function askReturned(question: Question, node: AnyNode, path: Path): Use {
  const { syntax } = question;
  if (!question.followsReturns) return "handed on";
  let fn = node;
  while (!isFunction(fn)) fn = syntax.getParent(fn)!;
  const name = findFunctionName(syntax, fn);
  if (name === undefined) return "handed on";
  return combine(
    syntax.listReferences(name).map((reference): Use => {
      const parent = syntax.getParent(reference);
      if (isCallee(reference, parent)) return ask(question, parent, path);
      return parent !== undefined && question.isHarmless(reference, parent)
        ? "unused"
        : "handed on";
    }),
  );
}

function askCall(question: Question, node: AnyNode, call: CallExpression, path: Path): Use {
  const { callee } = call;
  if (callee === node) return path.length === 0 ? "used" : "handed on";
  const owner = callee.type === "MemberExpression" ? callee.object : undefined;
  const name = owner?.type === "Identifier"
    ? `${owner.name}.${getMemberName(callee)}`
    : getCalleeName(call);
  if (IDENTITIES.test(name)) return ask(question, call, path);
  return name === "__export" ? "unused" : askResult(question, call);
}

/** A value that is handed to a call is used unless nothing uses the result, which a constant holds. */
function askResult(question: Question, call: AnyNode): Use {
  const parent = question.syntax.getParent(call);
  const name = parent?.type === "VariableDeclarator" ? getAssignedName(parent, call) : undefined;
  if (name === undefined || question.countsCalls) return "handed on";
  const isUnused = question.syntax.declarations.has(name) &&
    askName({ ...question, countsMember: () => true }, name, []) === "unused";
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
  addOuterFunctions(syntax, syntax.program, unused);
  const exported = listExportedNames(syntax.program);
  for (let before = -1; before !== unused.size;) {
    before = unused.size;
    for (const each of unused) {
      const question = createQuestion(syntax, { unused, exported });
      const name = each.type === "FunctionDeclaration" ? each.id?.name : undefined;
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
  if (isFunction(node)) {
    const parent = getHolder(syntax, node);
    const isAssigned = parent.type === "VariableDeclarator" ||
      parent.type === "AssignmentExpression" && parent.left.type === "Identifier";
    if (node.type === "FunctionDeclaration" || isAssigned) return void found.add(node);
    if (isPlainMethod(syntax, parent) || getQuery(syntax, node)) return void found.add(node);
  }
  for (const child of childrenOf(node)) addOuterFunctions(syntax, child, found);
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
  return isCallee(marker, syntax.getParent(marker)) &&
      /^define(?:Prepared)?Query\d*$/.test(getCalleeName(call))
    ? call
    : undefined;
}

/** Checks for a method of an object whose members can be followed by name. */
function isPlainMethod(syntax: BundleSyntax, property: AnyNode): boolean {
  if (property.type !== "Property" || property.computed || property.kind !== "init") return false;
  const object = syntax.getParent(property)!;
  const call = syntax.getParent(object);
  // modules that are imported on demand, and their getters, whose names ask() follows
  const isHelper = call?.type === "CallExpression" && getCalleeName(call).startsWith("__");
  return object.type === "ObjectExpression" && !isHelper && !hasThis(object) &&
    !IMPLICIT.test(getMemberName(property) ?? "");
}

function hasThis(node: AnyNode): boolean {
  return node.type === "ThisExpression" || node.type === "Super" ||
    childrenOf(node).some(hasThis);
}

/** Lists the names at the top level that a module exports. */
export function listExportedNames(program: Program): Set<string> {
  const listed = program.body.flatMap((statement) =>
    statement.type === "ExportNamedDeclaration"
      ? statement.specifiers.map(({ local }) => getExportedName(local))
      : []
  );
  const declared = listDeclared(program).filter(({ isExported }) => isExported);
  return new Set([...listed, ...declared.map(({ name }) => name)]);
}

const closedClasses: WeakMap<AnyNode, boolean> = new WeakMap();

/**
 * Checks whether code is in a method that nothing can call: no code names such a member, and the class and its instances
 * are not handed to other code, which might.
 */
function isInUnusedMethod(syntax: BundleSyntax, node: AnyNode): boolean {
  for (let at = syntax.getParent(node); at !== undefined; at = syntax.getParent(at)) {
    if (at.type !== "MethodDefinition") continue;
    const name = at.kind === "method" ? getMemberName(at) : undefined;
    const owner = syntax.getParent(syntax.getParent(at)!)!;
    return name !== undefined && !syntax.memberNames.has(name) && isClosed(syntax, owner);
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
  closed = names.length > 0 && isClass(owner) && !owner.superClass && !handsOnThis(syntax, owner) &&
    names.every((name) => {
      const question = createQuestion(syntax, {
        isHarmless: (_, parent) => parent.type === "MemberExpression",
        followsInstances: true,
      });
      return askName(question, name, []) === "unused";
    });
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
    return !(parent.type === "CallExpression" && IDENTITIES.test(getCalleeName(parent)));
  }
  return childrenOf(node).some((child) => handsOnThis(syntax, child));
}
