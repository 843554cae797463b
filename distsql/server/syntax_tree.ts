import { qualify } from "../../sql/quote.ts";

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

/** Nodes under a node by type: most statements are searched for nodes of several types. */
const nodesByType: WeakMap<object, Map<string, SyntaxNode[]>> = new WeakMap();

/** Finds all nodes of a type under a node, including itself, without their wrappers. */
export function findNodes(root: unknown, type: string): readonly SyntaxNode[] {
  if (typeof root !== "object" || root === null) return [];
  let found = nodesByType.get(root);
  if (found === undefined) nodesByType.set(root, found = groupNodes(root));
  return found.get(type) ?? [];
}

function groupNodes(root: object): Map<string, SyntaxNode[]> {
  const found = new Map<string, SyntaxNode[]>();
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (Array.isArray(value)) pending.push(...value);
    else if (typeof value === "object" && value !== null) {
      for (const [field, inner] of Object.entries(value)) {
        // names of nodes begin with a capital letter, names of their fields do not
        if (field < "a") addNode(found, field, inner as SyntaxNode);
        pending.push(inner);
      }
    }
  }
  return found;
}

function addNode(nodes: Map<string, SyntaxNode[]>, type: string, node: SyntaxNode): void {
  const others = nodes.get(type);
  if (others === undefined) nodes.set(type, [node]);
  else others.push(node);
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
