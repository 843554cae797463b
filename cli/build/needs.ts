import type { DatabaseProvider } from "../../database/config/config.ts";
import { isTrellis } from "../sources/package_specifier.ts";
import {
  type AnyNode,
  getMemberName,
  getText,
  type ImportedName,
  listImports,
  type SyntaxTree,
  visitNodes,
} from "../sources/syntax.ts";

/** The optional parts of the package that a function needs. */
export interface Needs {
  /** The providers in its configurations, sorted. */
  readonly providers: readonly DatabaseProvider[];
  /** True if a provider is computed at run time, so that any provider may be used. */
  readonly anyProvider: boolean;
  /** The position of a provider in the code that cannot be determined. */
  readonly unreadAt?: number;
  /** True if it may use the auth library itself and not only check sessions. */
  readonly betterAuth: boolean;
  /** True if it may call `apiKey` of `defineAuth`. */
  readonly apiKeys: boolean;
  /** True if it may call `jwt` of `defineAuth`. */
  readonly jwt: boolean;
}

/** The providers that work in a deployed function. */
export const DEPLOYABLE: readonly DatabaseProvider[] = [
  "branching-pg",
  "distsql",
  "postgres",
  "serverless-pg",
];

/** Functions that return an auth instance or call its routes. */
const INSTANCES: ReadonlySet<string> = new Set([
  "createAuth",
  "createAuthHandler",
  "getAuth",
  "getConfiguredSessionAuth",
]);
/** Functions that take an auth instance as their first argument and never load the library. */
const SESSION_CHECKS: ReadonlySet<string> = new Set([
  "expireSession",
  "listAuthEvents",
  "refreshSession",
  "removeExpiredAuthRows",
  "validateSession",
  "validateSessionFromHeader",
]);

/** Functions whose first argument returns an auth instance, and that never load the library. */
const INSTANCE_USERS: ReadonlySet<string> = new Set(["createAuthCleanupHandler"]);

/**
 * Reads the needs of a function from its tree-shaken sources: every import in them is used.
 *
 * @param tree The function's own code as a bundle, with packages as imports.
 */
export function readNeeds(tree: SyntaxTree): Needs {
  const imports = readImports(tree);
  const names = new Set(imports.map(({ name }) => name));
  const isWhole = names.has("*");
  const usesDatabase = isWhole ||
    imports.some(({ from }) => from.includes("/database") && !from.includes("/orm"));
  const members = readAuthMembers(tree, imports);
  const uses = (member: string) => isWhole || members === undefined || members.has(member);
  const auth = {
    betterAuth: isWhole || startsBetterAuth(tree, imports, members),
    apiKeys: uses("apiKey"),
    jwt: uses("jwt"),
  };
  if (!usesDatabase) return { providers: [], anyProvider: false, ...auth };
  const { named, unread } = readProviders(tree);
  return {
    providers: [...named].sort(),
    anyProvider: unread.length > 0 || named.size === 0,
    unreadAt: unread[0]?.start,
    ...auth,
  };
}

/** Lists the imports of this package; the whole package counts as `*`. */
function readImports({ program, code }: SyntaxTree): ImportedName[] {
  const found = listImports(program).filter(({ from }) => isTrellis(from));
  const addWhole = (source: AnyNode | null | undefined): void => {
    const from = getText(source);
    if (from !== undefined && isTrellis(from)) found.push({ name: "*", local: "", from });
  };
  visitNodes(program, (node) => {
    if (node.type === "ExportAllDeclaration" || node.type === "ExportNamedDeclaration") {
      addWhole(node.source);
    } else if (node.type === "ImportExpression") addWhole(node.source);
    else if (node.type === "CallExpression" && /require$/.test(textOf(code, node.callee))) {
      addWhole(node.arguments[0]);
    }
  });
  return found;
}

function textOf(code: string, { start, end }: AnyNode): string {
  return code.slice(start, end);
}

/**
 * Reads the providers of configurations: `{ provider: "distsql" }`, also inside `?:`, `??` and `||`.
 *
 * @returns The names, and the expressions whose provider cannot be determined; if there are no names,
 * the calls that open a database count as such.
 */
function readProviders(
  { program, code, parentOf }: SyntaxTree,
): { named: ReadonlySet<DatabaseProvider>; unread: readonly AnyNode[] } {
  const named = new Set<DatabaseProvider>();
  const unread: AnyNode[] = [];
  const clients: AnyNode[] = [];
  const read = (node: AnyNode): void => {
    const text = getText(node);
    if (node.type === "ConditionalExpression") {
      read(node.consequent);
      read(node.alternate);
    } else if (node.type === "LogicalExpression" && node.operator !== "&&") {
      read(node.left);
      read(node.right);
    } else if (text === undefined) unread.push(node);
    else if (DEPLOYABLE.includes(text as DatabaseProvider) || text === "embedded-pg") {
      named.add(text as DatabaseProvider);
    }
  };
  visitNodes(program, (node) => {
    if (node.type === "Property" && getMemberName(node) === "provider") {
      if (parentOf(node)?.type !== "ObjectPattern") read(node.value);
    } else if (
      node.type === "CallExpression" && /^getDrizzleClient/.test(textOf(code, node.callee))
    ) {
      clients.push(node);
    }
  });
  return { named, unread: named.size === 0 && unread.length === 0 ? clients : unread };
}

/**
 * Checks whether an auth instance is used for anything except session checks, which never load the
 * library.
 */
function startsBetterAuth(
  { program, parentOf }: SyntaxTree,
  imports: readonly ImportedName[],
  members: ReadonlyMap<string, readonly AnyNode[]> | undefined,
): boolean {
  if (members === undefined) return true;
  const locals = new Map(imports.map(({ local, name }) => [local, name]));
  const getters = new Set(members.get("getAuth"));
  const nameOf = (node: AnyNode) => node.type === "Identifier" ? locals.get(node.name) ?? "" : "";
  const isForSessionCheck = (name: AnyNode): boolean => {
    let node = parentOf(name)!;
    if (node.type !== "CallExpression") return false;
    if (node.arguments[0] === name) return INSTANCE_USERS.has(nameOf(node.callee));
    if (node.callee !== name) return false;
    while (parentOf(node)?.type === "AwaitExpression") node = parentOf(node)!;
    const parent = parentOf(node);
    return parent?.type === "CallExpression" && parent.arguments[0] === node &&
      SESSION_CHECKS.has(nameOf(parent.callee));
  };
  let starts = false;
  visitNodes(program, (node) => {
    if (node.type === "ImportDeclaration") return false;
    const isInstance = INSTANCES.has(nameOf(node)) || getters.has(node);
    if (isInstance && !isForSessionCheck(node)) starts = true;
  });
  return starts;
}

/**
 * Finds where a function uses what calls of `defineAuth` return: `session` in
 * `const { session } = defineAuth(…)`.
 *
 * @returns The uses by member; `undefined` if a result is used as a whole, so that any member may be used.
 */
function readAuthMembers(
  { program, parentOf }: SyntaxTree,
  imports: readonly ImportedName[],
): ReadonlyMap<string, readonly AnyNode[]> | undefined {
  const definers = imports.filter(({ name }) => name === "defineAuth").map(({ local }) => local);
  const members = new Map<string, string>();
  const declared = new Set<AnyNode>();
  let isKnown = true;
  visitNodes(program, (node) => {
    if (node.type === "ImportDeclaration") return false;
    if (node.type !== "Identifier" || !definers.includes(node.name)) return;
    const call = parentOf(node);
    const variable = call?.type === "CallExpression" ? parentOf(call) : undefined;
    const pattern = variable?.type === "VariableDeclarator" ? variable.id : undefined;
    if (pattern?.type !== "ObjectPattern") return void (isKnown = false);
    for (const property of pattern.properties) {
      const member = property.type === "Property" ? getMemberName(property) : undefined;
      if (
        property.type !== "Property" || member === undefined || property.value.type !== "Identifier"
      ) isKnown = false;
      else {
        members.set(property.value.name, member);
        declared.add(property.key).add(property.value);
      }
    }
  });
  const uses = new Map<string, AnyNode[]>();
  visitNodes(program, (node) => {
    const member = node.type === "Identifier" ? members.get(node.name) : undefined;
    if (member === undefined || declared.has(node)) return;
    uses.set(member, [...uses.get(member) ?? [], node]);
  });
  return isKnown ? uses : undefined;
}
