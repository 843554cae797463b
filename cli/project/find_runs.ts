import { parseSyntax } from "../sources/syntax.ts";
import { listOwnModules } from "../sources/own_modules.ts";
import type { FunctionBundle } from "./bundle_functions.ts";
import { type BundleSyntax, type PackageUse, readBundleSyntax } from "./bundle_syntax.ts";
import { findFunctionName } from "./declarations.ts";
import type { Runs } from "./mark_definitions.ts";
import { type AnyNode, listChildren } from "./syntax_nodes.ts";

/** Functions of this package that run the handlers of jobs. */
const WORKERS = new Set([
  "createJobWorker",
  "defineJobQueueHandler",
  "defineJobRelayHandler",
  "defineJobStreamHandler",
]);

/** Functions of this package that give an instance of better-auth. */
const INSTANCES = new Set(["createAuth", "getAuth", "getConfiguredSessionAuth"]);

/** Functions of this package that take an instance, and use no routes. */
const INSTANCE_USERS = new Set([
  "validateSession",
  "validateSessionFromHeader",
  "refreshSession",
  "expireSession",
  "listAuthEvents",
  "removeExpiredAuthRows",
  "createAuthCleanupHandler",
  // counted separately, with the routes that it mounts
  "createAuthHandler",
]);

const MENTIONED = new RegExp(
  `\\b(?:${[...WORKERS, ...INSTANCES, "createAuthHandler"].join("|")})\\b`,
);

/** How a function uses an instance of better-auth: its routes, the functions of its API, or neither. */
export type InstanceUse = "routes" | "api" | "none";

/** Finds the code that a function runs. */
export function findRuns({ code }: Pick<FunctionBundle, "code">): Runs {
  if (!MENTIONED.test(code)) return { jobs: false, routes: false };
  const syntax = readBundleSyntax(
    parseSyntax(code).program as unknown as AnyNode,
    listOwnModules(),
  );
  return {
    jobs: syntax.uses.some(({ name }) => WORKERS.has(name)),
    routes: listInstanceUses(syntax).some((use) =>
      use.name === "createAuthHandler" || findInstanceUse(syntax, use) !== "none"
    ),
  };
}

/** Lists the uses of this package, and those of `getAuth` that `defineAuth` returns. */
export function listInstanceUses(syntax: BundleSyntax): readonly PackageUse[] {
  const definition = syntax.uses.find(({ name }) => name === "defineAuth");
  if (definition === undefined) return syntax.uses;
  const names = new Set<string>();
  const nodes: AnyNode[] = [];
  const values = new Set<AnyNode>();
  for (const [name, declared] of syntax.declarations) {
    const value = getResult(declared);
    if (!isGetter(value)) continue;
    names.add(name);
    // the uses of the name count
    values.add(value);
  }
  const visit = (node: AnyNode): void => {
    const { key, value } = node as { key?: AnyNode; value?: AnyNode };
    if (node.type === "Property" && syntax.getParent(node)?.type === "ObjectPattern") {
      if (key?.name === "getAuth" && value?.type === "Identifier") names.add(value.name as string);
    } else if (isGetter(node) && !values.has(node)) nodes.push(node);
    listChildren(node).forEach(visit);
  };
  visit(syntax.program);
  for (const name of names) nodes.push(...syntax.listReferences(name));
  return [
    ...syntax.uses,
    ...nodes.map((node): PackageUse => {
      const call = syntax.getParent(node);
      const isCalled = call?.type === "CallExpression" && call.callee === node;
      const args = isCalled ? call.arguments as AnyNode[] : undefined;
      return { module: definition.module, name: "getAuth", node, args };
    }),
  ];
}

/** Checks for `auth.getAuth`. */
function isGetter(node: AnyNode): boolean {
  if (node.type !== "MemberExpression") return false;
  const { name, value } = node.property as { name?: string; value?: unknown };
  return node.computed ? value === "getAuth" : name === "getAuth";
}

/** Returns the result of `(() => value)()`, which marks a definition. */
function getResult(node: AnyNode): AnyNode {
  const { type, body } = (node.type === "CallExpression" ? node.callee : node) as AnyNode;
  return type === "ArrowFunctionExpression" && (body as AnyNode).type !== "BlockStatement"
    ? getResult(body as AnyNode)
    : node;
}

/** Finds out how the result of a function that gives an instance is used. */
export function findInstanceUse(
  syntax: BundleSyntax,
  { name, node, args }: PackageUse,
): InstanceUse {
  if (!INSTANCES.has(name)) return "none";
  const call = syntax.getParent(node);
  // the function itself is an argument
  if (args === undefined) return call === undefined ? "routes" : findArgumentUse(syntax, node);
  return findValueUse(syntax, call!, new Set());
}

/** Finds the use of the value of an expression. */
function findValueUse(syntax: BundleSyntax, node: AnyNode, seen: Set<AnyNode>): InstanceUse {
  if (seen.has(node)) return "none";
  seen.add(node);
  const parent = syntax.getParent(node);
  switch (parent?.type) {
    case "AwaitExpression":
    case "ChainExpression":
      return findValueUse(syntax, parent, seen);
    case "ExpressionStatement":
      return "none";
    case "MemberExpression":
      if (parent.object !== node || parent.computed) return "routes";
      return (parent.property as AnyNode).name === "api" ? "api" : "routes";
    case "AssignmentExpression": {
      if (parent.left === node) return "none";
      const { name } = parent.left as { name?: string };
      if (name === undefined) return "routes";
      return combine([findNameUse(syntax, name, seen), findValueUse(syntax, parent, seen)]);
    }
    case "CallExpression":
      return findArgumentUse(syntax, node);
    case "VariableDeclarator": {
      const id = parent.id as AnyNode;
      if (id.type === "Identifier") return findNameUse(syntax, id.name as string, seen);
      const keys = id.type === "ObjectPattern"
        ? (id.properties as AnyNode[]).map(({ key }) => (key as AnyNode | undefined)?.name)
        : [undefined];
      return keys.every((key) => key === "api") ? "api" : "routes";
    }
    case "ArrowFunctionExpression":
    case "ReturnStatement": {
      const owner = findFunctionName(syntax, findFunction(syntax, parent));
      if (owner === undefined) return "routes";
      return combine(
        syntax.listReferences(owner).map((reference) => {
          const call = syntax.getParent(reference);
          return call?.type === "CallExpression" && call.callee === reference
            ? findValueUse(syntax, call, seen)
            : findArgumentUse(syntax, reference);
        }),
      );
    }
    default:
      return "routes";
  }
}

function findNameUse(syntax: BundleSyntax, name: string, seen: Set<AnyNode>): InstanceUse {
  return combine(syntax.listReferences(name).map((node) => findValueUse(syntax, node, seen)));
}

function combine(uses: readonly InstanceUse[]): InstanceUse {
  if (uses.includes("routes")) return "routes";
  return uses.includes("api") ? "api" : "none";
}

/** Finds the use of a value that is an argument. */
function findArgumentUse(syntax: BundleSyntax, node: AnyNode): InstanceUse {
  const call = syntax.getParent(node);
  if (call?.type !== "CallExpression" || call.callee === node) return "routes";
  const callee = syntax.findExport(call.callee as AnyNode);
  return callee !== undefined && (call.arguments as AnyNode[])[0] === node &&
      INSTANCE_USERS.has(callee.name)
    ? "none"
    : "routes";
}

function findFunction(syntax: BundleSyntax, node: AnyNode): AnyNode {
  let at = node;
  while (!/Function/.test(at.type)) at = syntax.getParent(at)!;
  return at;
}
