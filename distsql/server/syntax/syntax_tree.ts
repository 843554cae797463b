import { explainMissing } from "../../../env/optional_package.ts";
import { TESTING_PACKAGES } from "./optional_packages.ts";
import { qualify } from "../../../sql/quote.ts";

/**
 * Node of PostgreSQL's parse tree from libpg-query: an object whose fields are nodes, lists and
 * scalars.
 */
export interface SyntaxNode {
  readonly [field: string]: unknown;
}

/** Returns the node in a field, or an empty node. */
export function child(node: SyntaxNode, field: string): SyntaxNode {
  const value = node[field];
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as SyntaxNode
    : {};
}

/** Returns the list of nodes in a field, or an empty list. */
export function children(node: SyntaxNode, field: string): readonly SyntaxNode[] {
  const value = node[field];
  return Array.isArray(value) ? value as SyntaxNode[] : [];
}

/** Returns the string in a field, or an empty string. */
export function getText(node: SyntaxNode, field: string): string {
  const value = node[field];
  return typeof value === "string" ? value : "";
}

/** Finds all nodes of a type under a node, including itself, without their wrappers. */
export function findNodes(root: unknown, type: string): readonly SyntaxNode[] {
  const found: SyntaxNode[] = [];
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value !== "object" || value === null) continue;
    for (const [field, inner] of Object.entries(value)) {
      if (field === type) found.push(inner as SyntaxNode);
      pending.push(inner);
    }
  }
  return found;
}

/** Returns the strings of a list of `String` nodes, as in names and option lists. */
export function strings(nodes: readonly SyntaxNode[]): string[] {
  return nodes.map((node) => getText(child(node, "String"), "sval"));
}

/** Returns the options of a statement by name. */
export function definitions(nodes: readonly SyntaxNode[]): Map<string, SyntaxNode> {
  return new Map(
    nodes.map((node) => child(node, "DefElem")).map((
      element,
    ) => [getText(element, "defname"), element]),
  );
}

/** Formats a relation's name as SQL, quoted. */
export function relationName(relation: SyntaxNode): string {
  return qualify(getText(relation, "schemaname") || undefined, getText(relation, "relname"));
}

/** PostgreSQL's own parser. */
export interface PgQuery {
  /** Returns a node for each statement, with its tree in `stmt`. */
  parse(sql: string): readonly SyntaxNode[];
  /** Returns the tokens and comments of a text. Their places are in bytes. */
  scan(sql: string): readonly { start: number; end: number; text: string; tokenName: string }[];
}

/**
 * Loads libpg-query.
 *
 * @param caller What needs it, for the error if it is not installed.
 */
export async function loadPgQuery(caller: string): Promise<PgQuery> {
  const parser = await import("libpg-query").catch(
    explainMissing(TESTING_PACKAGES, "libpg-query", caller),
  );
  await parser.loadModule();
  return {
    parse(sql) {
      const statements: readonly object[] = parser.parseSync(sql).stmts ?? [];
      return statements as readonly SyntaxNode[];
    },
    scan: (sql) => parser.scanSync(sql).tokens,
  };
}
