import type { Program, VariableDeclarator } from "acorn";
import {
  type AnyNode,
  childrenOf,
  type Edit,
  getMemberName,
  isDeferred,
  isFunction,
  listImports,
  visitNodes,
} from "../sources/syntax.ts";

/** Code that only some functions run. In others it is emptied: who enqueues a job does not run it. */
export interface Runs {
  /** Handlers of jobs, functions of workflows, templates of mails and the functions of the transport. */
  readonly jobs: boolean;
  /** Functions of the configuration of sessions, which the auth routes call. */
  readonly routes: boolean;
}

/** How the definitions of a module are marked. */
export interface MarkOptions {
  /** Returns true if a specifier is an entry point of this package. */
  readonly isOwn: (specifier: string) => boolean;
  /** The code that the function runs. */
  readonly runs: Runs;
}

/** Functions of a query factory, which other modules of the project import. */
const FACTORY = new Set(["defineQuery", "definePreparedQuery", "defineStatement"]);

/** Functions of this package whose calls have no effect but their result. */
const DEFINER = /^(?:define|create)[A-Z]|^secret$/;

/** Functions of this package whose arguments only code that sends mails calls. */
const TRANSPORT = new Set(["configureMail", "createSmtpTransport", "createSesTransport"]);

/** Functions of this package whose second argument is the configuration of sessions. */
const SESSIONS = new Set(["configureSessionAuth", "defineAuth"]);

/**
 * Marks the definitions at the top level of a module as free of effects, so that esbuild drops those that are not used.
 * A call is put into a function that is called at once: esbuild would keep a call whose arguments read members.
 *
 * @param program The module, without types.
 * @returns The changes.
 */
export function markDefinitions(program: Program, { isOwn, runs }: MarkOptions): Edit[] {
  const names = listDefiners(program, isOwn);
  const edits: Edit[] = [];

  /** Returns the exported name of the function that an expression calls in the end. */
  function getDefiner(node: AnyNode): string | undefined {
    if (node.type === "CallExpression") return getDefiner(node.callee);
    if (node.type === "Identifier") return names.get(node.name);
    if (node.type !== "MemberExpression" || node.computed) return undefined;
    const name = getMemberName(node) ?? "";
    const isNamespace = node.object.type === "Identifier" && names.get(node.object.name) === "*";
    return isNamespace || FACTORY.has(name) ? name : undefined;
  }

  function isDefinition(node: AnyNode): boolean {
    const name = node.type === "CallExpression" ? getDefiner(node) : undefined;
    return name !== undefined && (DEFINER.test(name) || FACTORY.has(name)) && !hasAwait(node);
  }

  /** Declares each member of a definition separately: esbuild would keep a pattern. */
  function splitPattern({ id, init }: VariableDeclarator): boolean {
    if (id.type !== "ObjectPattern" || !init || !isDefinition(init)) return false;
    const whole = `__trellis${id.start}`;
    const parts: string[] = [];
    for (const property of id.properties) {
      const name = property.type === "Property" && !property.computed && getMemberName(property);
      if (!name || property.type !== "Property" || property.value.type !== "Identifier") {
        return false;
      }
      parts.push(
        `, ${property.value.name} = /* @__PURE__ */ (() => ${whole}[${JSON.stringify(name)}])()`,
      );
    }
    edits.push({ start: id.start, end: id.end, text: whole });
    edits.push({ start: init.end, end: init.end, text: `)()${parts.join("")}` });
    edits.push({ start: init.start, end: init.start, text: "/* @__PURE__ */ (() => " });
    return true;
  }

  function visit(node: AnyNode): void {
    if (node.type === "VariableDeclarator" && splitPattern(node)) return;
    if (isDefinition(node)) {
      edits.push({ start: node.start, end: node.start, text: "/* @__PURE__ */ (() => " });
      edits.push({ start: node.end, end: node.end, text: ")()" });
      return;
    }
    if (isDeferred(node) || node.type === "ImportDeclaration") return;
    for (const child of childrenOf(node)) visit(child);
  }
  visit(program);
  if (!runs.jobs) emptyHandlers(program, getDefiner, edits);
  if (!runs.routes) emptyConfigurations(program, getDefiner, edits);
  return edits;
}

/** Empties what only the worker of jobs and mails runs. */
function emptyHandlers(
  node: AnyNode,
  getDefiner: (node: AnyNode) => string | undefined,
  edits: Edit[],
): void {
  if (node.type === "CallExpression") {
    const { callee, arguments: args } = node;
    const name = getDefiner(callee);
    const isJob = name === "defineJob" || name === "defineWorkflow";
    if (isJob && callee.type === "CallExpression" && args.length === 1) {
      edits.push({ start: args[0].start, end: args[0].end, text: "() => {}" });
      return emptyHandlers(callee, getDefiner, edits);
    }
    if (name === "defineMail") {
      const render = findMember(args[0], "render");
      if (render !== undefined) {
        edits.push({ start: render.start, end: render.end, text: "render: () => ({})" });
      }
    }
    if (name === "createAccountMails") {
      const templates = findMember(args[0], "templates");
      if (templates !== undefined) emptyFunctions(templates, edits);
    }
    if (name !== undefined && TRANSPORT.has(name)) {
      return args.forEach((each) => emptyFunctions(each, edits));
    }
  }
  for (const child of childrenOf(node)) emptyHandlers(child, getDefiner, edits);
}

/** Empties the functions in configurations of sessions: in the call, or in a constant of the module. */
function emptyConfigurations(
  program: Program,
  getDefiner: (node: AnyNode) => string | undefined,
  edits: Edit[],
): void {
  const constants = new Map<string, AnyNode>();
  const named = new Set<string>();
  visitNodes(program, (node) => {
    if (node.type === "VariableDeclarator") {
      const { id, init } = node;
      if (id.type === "Identifier" && init?.type === "ObjectExpression") {
        constants.set(id.name, init);
      }
    }
    if (node.type === "CallExpression" && SESSIONS.has(getDefiner(node.callee) ?? "")) {
      const config = node.arguments[1];
      if (config?.type === "Identifier") named.add(config.name);
      else if (config !== undefined) emptyConfiguration(config, edits);
    }
  });
  for (const name of named) {
    const config = constants.get(name);
    if (config !== undefined) emptyConfiguration(config, edits);
  }
}

/** Options of a configuration of sessions that only the routes use, with a value that is valid and does nothing. */
const ROUTE_OPTIONS: ReadonlyMap<string, string> = new Map([
  ["databaseHooks", "{}"],
  ["emailAndPassword", "{}"],
  ["emailVerification", "{}"],
  ["hooks", "{}"],
  ["mail", "async () => {}"],
  ["plugins", "async () => []"],
  ["socialProviders", "{}"],
]);

/** Empties what only the routes use. */
function emptyConfiguration(config: AnyNode, edits: Edit[]): void {
  if (config.type !== "ObjectExpression") return emptyFunctions(config, edits);
  for (const property of config.properties) {
    const name = getMemberName(property);
    const empty = ROUTE_OPTIONS.get(name ?? "");
    if (empty !== undefined) {
      edits.push({ start: property.start, end: property.end, text: `${name}: ${empty}` });
    } else emptyFunctions(property, edits);
  }
}

/** Finds a member of an object literal: its name and value, or a method. */
function findMember(object: AnyNode | undefined, name: string): AnyNode | undefined {
  return object?.type === "ObjectExpression"
    ? object.properties.find((each) => getMemberName(each) === name)
    : undefined;
}

/** Empties all functions in an expression. */
function emptyFunctions(node: AnyNode, edits: Edit[]): void {
  if (node.type === "Property" && node.method) {
    const { key, value } = node;
    edits.push({ start: key.end, end: node.end, text: ": () => {}" });
    if (isFunction(value) && value.async) {
      edits.push({ start: node.start, end: key.start, text: "" });
    }
  } else if (isFunction(node)) {
    edits.push({ start: node.start, end: node.end, text: "() => {}" });
  } else childrenOf(node).forEach((child) => emptyFunctions(child, edits));
}

/** Lists the names of this package's functions in a module, by local name; `*` for a namespace. */
function listDefiners(
  program: Program,
  isOwn: (specifier: string) => boolean,
): Map<string, string> {
  const names = new Map<string, string>();
  for (const { name, local, from } of listImports(program)) {
    if (name !== "default" && (isOwn(from) || FACTORY.has(name))) names.set(local, name);
  }
  for (const statement of program.body) {
    const declaration = statement.type === "ExportNamedDeclaration"
      ? statement.declaration
      : statement;
    if (declaration?.type !== "VariableDeclaration") continue;
    for (const { id } of declaration.declarations) {
      for (const property of id.type === "ObjectPattern" ? id.properties : []) {
        const key = getMemberName(property) ?? "";
        const local = property.type === "Property" ? property.value : undefined;
        if (local?.type === "Identifier" && FACTORY.has(key)) names.set(local.name, key);
      }
    }
  }
  return names;
}

function hasAwait(node: AnyNode): boolean {
  if (node.type === "AwaitExpression") return true;
  return !isFunction(node) && childrenOf(node).some(hasAwait);
}
