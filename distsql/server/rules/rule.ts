import type { Statement } from "../syntax/statements.ts";

/**
 * Evidence for a rule: `L` recorded live on a cluster by a named public source, `D` stated in the
 * provider's documentation, `T` tested by a tool of the provider's owner, `I` inferred (the text
 * may differ).
 */
export type RuleCertainty = "L" | "D" | "T" | "I";

/** Error for a rejected statement. */
export interface Refusal {
  readonly sqlstate: string;
  readonly message: string;
}

/** Name and evidence of a rule. */
interface RuleFacts {
  readonly id: string;
  /** Day, YYYY-MM-DD, from which the provider accepts the statement. */
  readonly until?: string;
  /** @default "0A000" */
  readonly sqlstate?: string;
  readonly sure: RuleCertainty;
  /** Source of the rule. */
  readonly source: string;
}

/** Rule whose text depends on the statement. */
interface RefusingRule extends RuleFacts {
  /**
   * Checks one statement.
   *
   * @returns The server's text, or a whole refusal if the SQLSTATE varies; undefined if the rule
   * does not apply.
   */
  refuse(statement: Statement): string | Refusal | undefined;
}

/** Rule with one text. */
interface FixedRule extends RuleFacts {
  /** The server's text. */
  readonly text: string;
  /** Checks whether the rule applies to a statement. */
  when(statement: Statement): boolean;
}

/** Rule for the statements that its list names. */
export type StatementRule = RefusingRule | FixedRule;

/** Rule that rejects statements. */
export type RefusalRule = StatementRule & {
  /** Node types of the parse tree that the rule applies to; every statement if omitted. */
  readonly on?: readonly string[];
};

/** Returns rules that apply to one type of statement. */
export function rulesOn(type: string, rules: readonly StatementRule[]): RefusalRule[] {
  return rules.map((rule) => ({ ...rule, on: [type] }));
}
