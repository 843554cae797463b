import type { Edit } from "../sources/syntax.ts";
import { type AnyNode, listChildren } from "./syntax_nodes.ts";

/** Code that only some functions run. In others it is emptied: who enqueues a job does not run it. */
export interface Runs {
  /** Handlers of jobs, templates of mails and the functions of the transport. */
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

interface Declarator extends AnyNode {
  readonly id: AnyNode;
  readonly init: AnyNode | null;
}

/**
 * Marks the definitions at the top level of a module as free of effects, so that esbuild drops those that are not used.
 * A call is put into a function that is called at once: esbuild would keep a call whose arguments read members.
 *
 * @param program The module, without types.
 * @returns The changes.
 */
export function markDefinitions(program: AnyNode, { isOwn, runs }: MarkOptions): Edit[] {
  const names = listDefiners(program, isOwn);
  const edits: Edit[] = [];

  /** Returns the exported name of the function that an expression calls in the end. */
  function getDefiner(node: AnyNode): string | undefined {
    if (node.type === "CallExpression") return getDefiner(node.callee as AnyNode);
    if (node.type === "Identifier") return names.get(node.name as string);
    if (node.type !== "MemberExpression" || node.computed) return undefined;
    const name = (node.property as AnyNode).name as string;
    const owner = node.object as AnyNode;
    const isNamespace = owner.type === "Identifier" && names.get(owner.name as string) === "*";
    return isNamespace || FACTORY.has(name) ? name : undefined;
  }

  function isDefinition(node: AnyNode): boolean {
    const name = node.type === "CallExpression" ? getDefiner(node) : undefined;
    return name !== undefined && (DEFINER.test(name) || FACTORY.has(name)) && !hasAwait(node);
  }

  /** Declares each member of a definition separately: esbuild would keep a pattern. */
  function splitPattern({ id, init }: Declarator): boolean {
    if (id.type !== "ObjectPattern" || init === null || !isDefinition(init)) return false;
    const members = (id.properties as AnyNode[]).map((property) => ({
      key: property.key as AnyNode | undefined,
      value: property.value as AnyNode | undefined,
      isPlain: property.type === "Property" && !property.computed,
    }));
    if (!members.every(({ value, isPlain }) => isPlain && value?.type === "Identifier")) {
      return false;
    }
    const whole = `__trellis${id.start}`;
    edits.push({ start: id.start, end: id.end, text: whole });
    const parts = members.map(({ key, value }) =>
      `, ${value!.name} = /* @__PURE__ */ (() => ${whole}[${
        JSON.stringify(key!.name ?? key!.value)
      }])()`
    );
    edits.push({ start: init.end, end: init.end, text: `)()${parts.join("")}` });
    edits.push({ start: init.start, end: init.start, text: "/* @__PURE__ */ (() => " });
    return true;
  }

  function visit(node: AnyNode): void {
    if (node.type === "VariableDeclarator" && splitPattern(node as Declarator)) return;
    if (isDefinition(node)) {
      edits.push({ start: node.start, end: node.start, text: "/* @__PURE__ */ (() => " });
      edits.push({ start: node.end, end: node.end, text: ")()" });
      return;
    }
    if (/Function|^Class|^Import/.test(node.type)) return;
    for (const child of listChildren(node)) visit(child);
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
    const callee = node.callee as AnyNode;
    const args = node.arguments as AnyNode[];
    const name = getDefiner(callee);
    if (name === "defineJob" && callee.type === "CallExpression" && args.length === 1) {
      edits.push({ start: args[0].start, end: args[0].end, text: "() => {}" });
      return emptyHandlers(callee, getDefiner, edits);
    }
    if (name === "defineMail" && args[0]?.type === "ObjectExpression") {
      const render = findProperty(args[0], "render");
      if (render !== undefined) {
        edits.push({ start: render.start, end: render.end, text: "render: () => ({})" });
      }
    }
    if (name === "createAccountMails" && args[0]?.type === "ObjectExpression") {
      const templates = findProperty(args[0], "templates");
      if (templates !== undefined) emptyFunctions(templates, edits);
    }
    if (name !== undefined && TRANSPORT.has(name)) {
      return args.forEach((each) => emptyFunctions(each, edits));
    }
  }
  for (const child of listChildren(node)) emptyHandlers(child, getDefiner, edits);
}

/** Empties the functions in configurations of sessions: in the call, or in a constant of the module. */
function emptyConfigurations(
  program: AnyNode,
  getDefiner: (node: AnyNode) => string | undefined,
  edits: Edit[],
): void {
  const constants = new Map<string, AnyNode>();
  const named = new Set<string>();
  function visit(node: AnyNode): void {
    if (node.type === "VariableDeclarator") {
      const { id, init } = node as Declarator;
      if (id.type === "Identifier" && init?.type === "ObjectExpression") {
        constants.set(id.name as string, init);
      }
    }
    if (node.type === "CallExpression" && SESSIONS.has(getDefiner(node.callee as AnyNode) ?? "")) {
      const config = (node.arguments as AnyNode[])[1];
      if (config?.type === "Identifier") named.add(config.name as string);
      else if (config !== undefined) emptyConfiguration(config, edits);
    }
    listChildren(node).forEach(visit);
  }
  visit(program);
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
  for (const property of config.properties as AnyNode[]) {
    const name = (property.key as AnyNode | undefined)?.name as string | undefined;
    const empty = property.computed ? undefined : ROUTE_OPTIONS.get(name ?? "");
    if (empty !== undefined) {
      edits.push({ start: property.start, end: property.end, text: `${name}: ${empty}` });
    } else emptyFunctions(property, edits);
  }
}

function findProperty(object: AnyNode, name: string): AnyNode | undefined {
  return (object.properties as AnyNode[]).find(({ key }) =>
    (key as AnyNode | undefined)?.name === name
  );
}

/** Empties all functions in an expression. */
function emptyFunctions(node: AnyNode, edits: Edit[]): void {
  if (node.type === "Property" && node.method) {
    const key = node.key as AnyNode;
    edits.push({ start: key.end, end: node.end, text: ": () => {}" });
    if ((node.value as AnyNode).async) {
      edits.push({ start: node.start, end: key.start, text: "" });
    }
  } else if (/^(?:Arrow)?Function/.test(node.type)) {
    edits.push({ start: node.start, end: node.end, text: "() => {}" });
  } else listChildren(node).forEach((child) => emptyFunctions(child, edits));
}

/** Lists the names of this package's functions in a module, by local name; `*` for a namespace. */
function listDefiners(
  program: AnyNode,
  isOwn: (specifier: string) => boolean,
): Map<string, string> {
  const names = new Map<string, string>();
  for (const statement of program.body as AnyNode[]) {
    if (statement.type === "ImportDeclaration") {
      const own = isOwn((statement.source as AnyNode).value as string);
      for (const specifier of statement.specifiers as AnyNode[]) {
        const local = (specifier.local as AnyNode).name as string;
        const imported = specifier.type === "ImportNamespaceSpecifier"
          ? "*"
          : (specifier.imported as AnyNode | undefined)?.name as string | undefined;
        if (imported !== undefined && (own || FACTORY.has(imported))) names.set(local, imported);
      }
      continue;
    }
    const declaration =
      (statement.type === "ExportNamedDeclaration" ? statement.declaration : statement) as
        | AnyNode
        | null;
    if (declaration?.type !== "VariableDeclaration") continue;
    for (const { id } of declaration.declarations as { id: AnyNode }[]) {
      if (id.type !== "ObjectPattern") continue;
      for (const property of id.properties as AnyNode[]) {
        const key = (property.key as AnyNode | undefined)?.name as string | undefined;
        const local = (property.value as AnyNode | undefined)?.name as string | undefined;
        if (key !== undefined && local !== undefined && FACTORY.has(key)) names.set(local, key);
      }
    }
  }
  return names;
}

function hasAwait(node: AnyNode): boolean {
  if (node.type === "AwaitExpression") return true;
  if (/Function/.test(node.type)) return false;
  return listChildren(node).some(hasAwait);
}
