import { child, children, getText, type SyntaxNode } from "../syntax/syntax_tree.ts";
import type { SqlToken } from "../syntax/statements.ts";
import { type RefusalRule, rulesOn } from "./rule.ts";

/**
 * Checks for a top-level keyword of a statement: the parse tree does not distinguish `USING btree`
 * from no clause.
 */
function hasClause(tokens: readonly SqlToken[], word: string): boolean {
  let depth = 0;
  for (const token of tokens) {
    if (token.text === "(") depth++;
    if (token.text === ")") depth--;
    if (depth === 0 && token.text.toUpperCase() === word && token.name !== "SCONST") return true;
  }
  return false;
}

/** Text for a key of more than 8 columns. */
export const TOO_MANY_KEYS = "more than 8 column keys in an index are not supported";

/** Returns the key columns and expressions of an index. */
function keys(node: SyntaxNode): SyntaxNode[] {
  return children(node, "indexParams").map((key) => child(key, "IndexElem"));
}

/** Refusals of CREATE INDEX, in the order of the provider's answers. */
export const INDEX_RULES: readonly RefusalRule[] = [
  ...rulesOn("IndexStmt", [
    {
      id: "index-concurrently",
      source: "LINT 2026-08, MINI",
      text: "CONCURRENTLY not supported for CREATE INDEX",
      when: ({ node }) => Boolean(node.concurrent),
    },
    {
      id: "index-using",
      source: "MTX 2026-08-28, LIM 2026-10",
      text: "USING not supported for CREATE INDEX",
      when: ({ tokens }) => hasClause(tokens, "USING"),
    },
    {
      id: "index-sort-order",
      source: "LIM 2026-10",
      text: "specifying sort order not supported for index keys",
      when: ({ node }) =>
        keys(node).some((key) => ["SORTBY_ASC", "SORTBY_DESC"].includes(getText(key, "ordering"))),
    },
    {
      id: "index-operator-class",
      source: "LIM 2026-10",
      text: "opclass not supported for index keys",
      when: ({ node }) => keys(node).some((key) => children(key, "opclass").length > 0),
    },
    {
      id: "index-collate",
      source: "LINT 0.2.16",
      text: "COLLATE clause not supported",
      when: ({ node }) => keys(node).some((key) => children(key, "collation").length > 0),
    },
    {
      id: "index-expression",
      until: "2026-08-13",
      source: "REL 2026-08-13 (accepted from then on; earlier text inferred)",
      text: "expressions not supported for index keys",
      when: ({ node }) => keys(node).some((key) => key.expr !== undefined),
    },
    {
      id: "index-where",
      until: "2026-09-15",
      source: "REL 2026-09-15 (accepted from then on)",
      text: "WHERE not supported for CREATE INDEX",
      when: ({ node }) => Boolean(node.whereClause),
    },
    {
      id: "index-with",
      source: "LINT 2026-08 (refused; text inferred)",
      text: "WITH not supported for CREATE INDEX",
      when: ({ node }) => children(node, "options").length > 0,
    },
    {
      id: "index-tablespace",
      source: "LINT 2026-08 (refused; text inferred)",
      text: "TABLESPACE not supported for CREATE INDEX",
      when: ({ node }) => Boolean(node.tableSpace),
    },
    {
      id: "index-key-columns",
      sqlstate: "54011",
      source: "Q, LIM 2026-10",
      text: TOO_MANY_KEYS,
      when: ({ node }) => keys(node).length > 8,
    },
    {
      id: "index-synchronous",
      source: "EMU 2026-09-15, CI",
      text: "unsupported mode. please use CREATE INDEX ASYNC.",
      when: ({ isAsync }) => !isAsync,
    },
  ]),
  {
    id: "drop-index-concurrently",
    on: ["DropStmt"],
    source: "GRAM 2026-08 (not in the grammar; text inferred)",
    text: "CONCURRENTLY not supported for DROP INDEX",
    when: ({ node }) => Boolean(node.concurrent),
  },
];
