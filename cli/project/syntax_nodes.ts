import { childrenOf } from "../sources/syntax.ts";

/** A node of a syntax tree of acorn, whose fields are checked where they are read. */
export interface AnyNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** Lists the children of a node in the order of the text. */
export function listChildren(node: AnyNode): AnyNode[] {
  return childrenOf(node);
}

/** Removes what changes no value: esbuild's `__name(value, "name")`, parentheses and chains. */
export function unwrap(node: AnyNode): AnyNode {
  if (node.type === "CallExpression") {
    const callee = node.callee as AnyNode;
    if (callee.type === "Identifier" && /^__name\d*$/.test(callee.name as string)) {
      return unwrap((node.arguments as AnyNode[])[0]);
    }
  }
  if (node.type === "ChainExpression") return unwrap(node.expression as AnyNode);
  return node;
}
