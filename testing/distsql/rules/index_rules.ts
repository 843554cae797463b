import { child, children, getText } from "../syntax_tree.ts";
import type { SqlToken } from "../statements.ts";
import type { RefusalRule } from "./rule.ts";

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

/** Creates the check of a list in the keys of an index. */
function refuseKeys(list: string, message: string): RefusalRule["refuse"] {
  return ({ node }) => {
    const keys = children(node, "indexParams").map((key) => child(key, "IndexElem"));
    return keys.some((key) => children(key, list).length > 0) ? message : undefined;
  };
}

/** Refusals of CREATE INDEX, in the order of the provider's answers. */
export const INDEX_RULES: readonly RefusalRule[] = [
  {
    id: "index-concurrently",
    on: ["IndexStmt"],
    sure: "T",
    source: "LINT 2026-08, MINI",
    refuse({ node }) {
      return node.concurrent ? "CONCURRENTLY not supported for CREATE INDEX" : undefined;
    },
  },
  {
    id: "index-using",
    on: ["IndexStmt"],
    sure: "L",
    source: "MTX 2026-08-28, LIM 2026-10",
    refuse({ tokens }) {
      return hasClause(tokens, "USING") ? "USING not supported for CREATE INDEX" : undefined;
    },
  },
  {
    id: "index-sort-order",
    on: ["IndexStmt"],
    sure: "L",
    source: "LIM 2026-10",
    refuse({ node }) {
      const sorted = children(node, "indexParams").some((key) =>
        ["SORTBY_ASC", "SORTBY_DESC"].includes(getText(child(key, "IndexElem"), "ordering"))
      );
      return sorted ? "specifying sort order not supported for index keys" : undefined;
    },
  },
  {
    id: "index-operator-class",
    on: ["IndexStmt"],
    sure: "L",
    source: "LIM 2026-10",
    refuse: refuseKeys("opclass", "opclass not supported for index keys"),
  },
  {
    id: "index-collate",
    on: ["IndexStmt"],
    sure: "T",
    source: "LINT 0.2.16",
    refuse: refuseKeys("collation", "COLLATE clause not supported"),
  },
  {
    id: "index-expression",
    on: ["IndexStmt"],
    until: "2026-08-13",
    sure: "I",
    source: "REL 2026-08-13 (accepted from then on; earlier text inferred)",
    refuse({ node }) {
      const computed = children(node, "indexParams").some((key) =>
        child(key, "IndexElem").expr !== undefined
      );
      return computed ? "expressions not supported for index keys" : undefined;
    },
  },
  {
    id: "index-where",
    on: ["IndexStmt"],
    until: "2026-09-15",
    sure: "L",
    source: "REL 2026-09-15 (accepted from then on)",
    refuse({ node }) {
      return node.whereClause ? "WHERE not supported for CREATE INDEX" : undefined;
    },
  },
  {
    id: "index-with",
    on: ["IndexStmt"],
    sure: "I",
    source: "LINT 2026-08 (refused; text inferred)",
    refuse({ node }) {
      return children(node, "options").length > 0
        ? "WITH not supported for CREATE INDEX"
        : undefined;
    },
  },
  {
    id: "index-tablespace",
    on: ["IndexStmt"],
    sure: "I",
    source: "LINT 2026-08 (refused; text inferred)",
    refuse({ node }) {
      return node.tableSpace ? "TABLESPACE not supported for CREATE INDEX" : undefined;
    },
  },
  {
    id: "index-key-columns",
    on: ["IndexStmt"],
    sqlstate: "54011",
    sure: "D",
    source: "Q, LIM 2026-10",
    refuse({ node }) {
      return children(node, "indexParams").length > 8 ? TOO_MANY_KEYS : undefined;
    },
  },
  {
    id: "index-synchronous",
    on: ["IndexStmt"],
    sure: "L",
    source: "EMU 2026-09-15, CI",
    refuse({ isAsync }) {
      return isAsync ? undefined : "unsupported mode. please use CREATE INDEX ASYNC.";
    },
  },
  {
    id: "drop-index-concurrently",
    on: ["DropStmt"],
    sure: "I",
    source: "GRAM 2026-08 (not in the grammar; text inferred)",
    refuse({ node }) {
      return node.concurrent ? "CONCURRENTLY not supported for DROP INDEX" : undefined;
    },
  },
];
