import type { Statement } from "../statements.ts";

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

/** Rule that rejects statements. */
export interface RefusalRule {
  readonly id: string;
  /** Node types of the parse tree that the rule applies to; every statement if omitted. */
  readonly on?: readonly string[];
  /** Day, YYYY-MM-DD, from which the provider accepts the statement. */
  readonly until?: string;
  /** @default "0A000" */
  readonly sqlstate?: string;
  readonly sure: RuleCertainty;
  /** Source of the rule. */
  readonly source: string;
  /**
   * Checks one statement.
   *
   * @returns The server's text, or a whole refusal if the SQLSTATE varies; undefined if the rule
   * does not apply.
   */
  refuse(statement: Statement): string | Refusal | undefined;
}
