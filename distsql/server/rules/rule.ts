import type { Statement } from "../syntax/statements.ts";

/** Error for a rejected statement. */
export interface Refusal {
  readonly sqlstate: string;
  readonly message: string;
}

/** Name and source of a rule. */
interface RuleFacts {
  readonly id: string;
  /** Day, YYYY-MM-DD, from which the provider accepts the statement. */
  readonly until?: string;
  /** @default "0A000" */
  readonly sqlstate?: string;
  /**
   * Source of the rule, with the day of its record. "inferred" if the provider's text may differ.
   */
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
