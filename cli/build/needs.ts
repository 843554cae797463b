import type { DatabaseProvider } from "../../database/config/config.ts";
import type { ExportNamedDeclaration } from "acorn";
import { type BundleSyntax, readBundleSyntax } from "../project/bundle_syntax.ts";
import { startsBetterAuth } from "../project/find_runs.ts";
import { findNodeUse } from "../project/value_uses.ts";
import { isTrellis } from "../sources/package_specifier.ts";
import {
  type AnyNode,
  findProperty,
  getMemberName,
  getText,
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
  /** True if its export `infra` has a container image, in which the AWS SDK may be missing. */
  readonly hasImage: boolean;
}

/** The providers that work in a deployed function. */
export const DEPLOYABLE: readonly DatabaseProvider[] = [
  "branching-pg",
  "distsql",
  "postgres",
  "serverless-pg",
];

/**
 * Reads the needs of a function from its tree-shaken sources: every import in them is used.
 *
 * @param tree The function's own code as a bundle, with packages as imports.
 */
export function readNeeds(tree: SyntaxTree): Needs {
  const syntax = readBundleSyntax(
    tree.program,
    (specifier) => isTrellis(specifier) ? specifier : undefined,
  );
  const sources = tree.program.body.flatMap((statement) =>
    statement.type === "ImportDeclaration" ? [String(statement.source.value)] : []
  );
  const isWhole = importsWhole(tree, syntax);
  const usesDatabase = isWhole ||
    sources.some((from) => isTrellis(from) && from.includes("/database") && !from.includes("/orm"));
  const definitions = syntax.uses.filter(({ name }) => name === "defineAuth");
  const uses = (member: string) =>
    isWhole || definitions.some(({ node, args }) => {
      const value = args === undefined ? node : syntax.getParent(node)!;
      return findNodeUse(syntax, value, { member, countsCalls: true }) !== "unused";
    });
  const others = {
    hasImage: findProperty(syntax.declarations.get("infra"), "image") !== undefined,
    // no member has this name, so that only a result that is handed on as a whole counts
    betterAuth: uses("") || startsBetterAuth(syntax),
    apiKeys: uses("apiKey"),
    jwt: uses("jwt"),
  };
  if (!usesDatabase) return { providers: [], anyProvider: false, ...others };
  const { named, unread } = readProviders(tree);
  return {
    providers: [...named].sort(),
    anyProvider: unread.length > 0 || named.size === 0,
    unreadAt: unread[0]?.start,
    ...others,
  };
}

/** Checks for imports and exports of this package as a whole, of which any part may be used. */
function importsWhole({ program }: SyntaxTree, { imports }: BundleSyntax): boolean {
  const isOwn = (source: AnyNode | null | undefined): boolean => isTrellis(getText(source) ?? "");
  return program.body.some((statement) =>
    statement.type === "ImportDeclaration"
      ? isOwn(statement.source) &&
        statement.specifiers.some(({ type }) => type === "ImportNamespaceSpecifier")
      : /^Export(?:All|Named)Declaration$/.test(statement.type) &&
        isOwn((statement as ExportNamedDeclaration).source)
  ) || imports.some((node) =>
    isOwn(node.type === "ImportExpression" ? node.source : node.arguments[0])
  );
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
      node.type === "CallExpression" && code.startsWith("getDrizzleClient", node.callee.start)
    ) {
      clients.push(node);
    }
  });
  return { named, unread: named.size === 0 && unread.length === 0 ? clients : unread };
}
