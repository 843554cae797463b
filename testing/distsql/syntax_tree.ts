/** A node of PostgreSQL's parse tree as libpg-query gives it: an object whose fields are nodes, lists and scalars. */
export interface SyntaxNode {
  readonly [field: string]: unknown;
}

/** A field that holds a node, or an empty node. */
export function child(node: SyntaxNode, field: string): SyntaxNode {
  const value = node[field];
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value as SyntaxNode
    : {};
}

/** A field that holds a list of nodes, or an empty list. */
export function children(node: SyntaxNode, field: string): readonly SyntaxNode[] {
  const value = node[field];
  return Array.isArray(value) ? value as SyntaxNode[] : [];
}

/** A field that holds a string, or an empty one. */
export function getText(node: SyntaxNode, field: string): string {
  const value = node[field];
  return typeof value === "string" ? value : "";
}

/** Every node of the given type under a node, itself included, without its wrapper. */
export function findNodes(root: unknown, type: string): SyntaxNode[] {
  const found: SyntaxNode[] = [];
  const pending: unknown[] = [root];
  while (pending.length > 0) {
    const value = pending.pop();
    if (Array.isArray(value)) pending.push(...value);
    else if (typeof value === "object" && value !== null) {
      for (const [field, inner] of Object.entries(value)) {
        if (field === type) found.push(inner as SyntaxNode);
        pending.push(inner);
      }
    }
  }
  return found;
}

/** The strings of a list of `String` nodes, as names and option lists have them. */
export function strings(nodes: readonly SyntaxNode[]): string[] {
  return nodes.map((node) => getText(child(node, "String"), "sval"));
}

/** The options of a statement by their name. */
export function definitions(nodes: readonly SyntaxNode[]): Map<string, SyntaxNode> {
  return new Map(
    nodes.map((node) => child(node, "DefElem")).map((
      element,
    ) => [getText(element, "defname"), element]),
  );
}

/** A relation's name as it is written in SQL, quoted. */
export function relationName(relation: SyntaxNode): string {
  const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;
  const schema = getText(relation, "schemaname");
  return (schema ? `${quote(schema)}.` : "") + quote(getText(relation, "relname"));
}
