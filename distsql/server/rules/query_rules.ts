import {
  child,
  children,
  findNodes,
  getText,
  strings,
  type SyntaxNode,
} from "../syntax/syntax_tree.ts";
import type { RefusalRule } from "./rule.ts";

const TEXT_SEARCH = /^((jsonb?_)?to_tsvector|(plain|phrase|websearch_)?to_tsquery|ts_headline)$/;

const SIMPLE = ["simple", "pg_catalog.simple"];

function functionNames(node: SyntaxNode): { name: string; call: SyntaxNode }[] {
  return findNodes(node, "FuncCall").map((call) => ({
    name: strings(children(call, "funcname")).at(-1) ?? "",
    call,
  }));
}

function firstArgument(call: SyntaxNode): string | undefined {
  const constants = findNodes(children(call, "args")[0], "A_Const");
  return constants.length > 0 ? getText(child(constants[0], "sval"), "sval") : undefined;
}

/** Refusals of parts of queries. */
export const QUERY_RULES: readonly RefusalRule[] = [
  {
    id: "wait-for-job-arguments",
    on: ["SelectStmt"],
    sqlstate: "42809",
    source: "EMU 2026-09-18",
    text: "sys.wait_for_job(unknown) is a procedure",
    when: ({ node }) =>
      findNodes(node, "FuncCall").some((call) =>
        strings(children(call, "funcname")).join(".") === "sys.wait_for_job"
      ),
  },
  {
    id: "tablesample",
    source: "EMU 2026-09-18",
    text: "TABLESAMPLE clause not supported",
    when: ({ node }) => findNodes(node, "RangeTableSample").length > 0,
  },
  {
    id: "locking-clause",
    source: "EMU 2026-09-18; FOR KEY SHARE since 2026-08-25 (REL)",
    text: "locking clauses other than FOR UPDATE/FOR KEY SHARE are not supported",
    when: ({ node }) =>
      findNodes(node, "LockingClause").some((clause) =>
        ["LCS_FORSHARE", "LCS_FORNOKEYUPDATE"].includes(getText(clause, "strength"))
      ),
  },
  {
    id: "advisory-locks",
    source: "LIM 2026-10",
    refuse({ node }) {
      const found = functionNames(node).find(({ name }) => /^pg_(try_)?advisory_/.test(name));
      return found && `function ${found.name} not supported`;
    },
  },
  {
    id: "text-search-configuration",
    sqlstate: "42704",
    source: "EMU 2026-09-18",
    text: 'text search configuration "english" does not exist',
    when: ({ node }) =>
      functionNames(node).some(({ name, call }) =>
        TEXT_SEARCH.test(name) && !SIMPLE.includes(firstArgument(call) ?? "")
      ),
  },
];
