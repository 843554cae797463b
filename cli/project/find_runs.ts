import {
  type AnyNode,
  getMemberName,
  isCallee,
  parseSyntax,
  visitNodes,
} from "../sources/syntax.ts";
import { listOwnModules } from "../sources/own_modules.ts";
import type { FunctionBundle } from "./bundle_functions.ts";
import { type BundleSyntax, type PackageUse, readBundleSyntax } from "./bundle_syntax.ts";
import type { Runs } from "./mark_definitions.ts";
import { findNodeUse } from "./value_uses.ts";

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
  const own = listOwnModules();
  const syntax = readBundleSyntax(parseSyntax(code).program, (specifier) => own.get(specifier));
  return {
    jobs: syntax.uses.some(({ name }) => WORKERS.has(name)),
    routes: startsBetterAuth(syntax),
  };
}

/** Checks whether an instance of better-auth is used for anything except session checks, which never load the library. */
export function startsBetterAuth(syntax: BundleSyntax): boolean {
  return listInstanceUses(syntax).some((use) =>
    use.name === "createAuthHandler" || findInstanceUse(syntax, use) !== "none"
  );
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
  visitNodes(syntax.program, (node) => {
    if (node.type === "Property" && syntax.getParent(node)?.type === "ObjectPattern") {
      const { value } = node;
      if (getMemberName(node) === "getAuth" && value.type === "Identifier") names.add(value.name);
    } else if (isGetter(node) && !values.has(node)) nodes.push(node);
  });
  for (const name of names) nodes.push(...syntax.listReferences(name));
  return [
    ...syntax.uses,
    ...nodes.map((node): PackageUse => {
      const call = syntax.getParent(node);
      const args = isCallee(node, call) ? call.arguments : undefined;
      return { module: definition.module, name: "getAuth", node, args };
    }),
  ];
}

/** Checks for `auth.getAuth`. */
function isGetter(node: AnyNode): boolean {
  return node.type === "MemberExpression" && getMemberName(node) === "getAuth";
}

/** Returns the result of `(() => value)()`, which marks a definition. */
function getResult(node: AnyNode): AnyNode {
  const called = node.type === "CallExpression" ? node.callee : node;
  return called.type === "ArrowFunctionExpression" && called.body.type !== "BlockStatement"
    ? getResult(called.body)
    : node;
}

/** Finds out how the result of a function that gives an instance is used. */
export function findInstanceUse(
  syntax: BundleSyntax,
  { name, node, args }: PackageUse,
): InstanceUse {
  if (!INSTANCES.has(name)) return "none";
  // without a call, the function itself is handed on
  const value = args === undefined ? node : syntax.getParent(node)!;
  const options = { isHarmless, followsReturns: true, countsCalls: true };
  const isUsed = (metadata: readonly string[]) =>
    findNodeUse(syntax, value, { ...options, metadata }) !== "unused";
  if (isUsed(["api"])) return "routes";
  return isUsed([]) ? "api" : "none";

  function isHarmless(each: AnyNode, parent: AnyNode): boolean {
    return parent.type === "CallExpression" && parent.arguments[0] === each &&
      INSTANCE_USERS.has(syntax.findExport(parent.callee)?.name ?? "");
  }
}
