import type { Statement } from "../syntax/statements.ts";
import { child } from "../syntax/syntax_tree.ts";
import { ALTER_RULES } from "./alter_rules.ts";
import { INDEX_RULES } from "./index_rules.ts";
import { OBJECT_RULES } from "./object_rules.ts";
import { QUERY_RULES } from "./query_rules.ts";
import type { Refusal, RefusalRule } from "./rule.ts";
import { STATEMENT_RULES } from "./statement_rules.ts";
import { TABLE_RULES } from "./table_rules.ts";

/** All rules that reject a statement by its text, in the order of the provider's answers. */
export const REFUSAL_RULES: readonly RefusalRule[] = [
  ...STATEMENT_RULES,
  ...OBJECT_RULES,
  ...QUERY_RULES,
  ...INDEX_RULES,
  ...TABLE_RULES,
  ...ALTER_RULES,
];

function applyRule(rule: RefusalRule, statement: Statement): string | Refusal | undefined {
  if ("refuse" in rule) return rule.refuse(statement);
  return rule.when(statement) ? rule.text : undefined;
}

/** Returns the statement inside EXPLAIN, which is rejected like the statement itself. */
function explained(statement: Statement): Statement {
  const [type, node] = Object.entries(child(statement.node, "query"))[0] ?? [];
  return type === undefined ? statement : { ...statement, type, node: node as Statement["node"] };
}

/**
 * Checks whether the provider rejects a statement.
 *
 * @param statement A parsed statement.
 * @param asOf Day, YYYY-MM-DD, whose rules apply.
 * @returns SQLSTATE and text of the first matching rule, or undefined.
 */
export function checkRefusals(statement: Statement, asOf: string): Refusal | undefined {
  for (const rule of REFUSAL_RULES) {
    if (rule.on && !rule.on.includes(statement.type)) continue;
    if (rule.until && asOf >= rule.until) continue;
    const found = applyRule(rule, statement);
    if (found === undefined) continue;
    return typeof found === "string"
      ? { sqlstate: rule.sqlstate ?? "0A000", message: found }
      : found;
  }
  return statement.type === "ExplainStmt" ? checkRefusals(explained(statement), asOf) : undefined;
}
