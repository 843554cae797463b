import type { Statement } from "../statements.ts";

/**
 * How a rule is known: `L` recorded live on a cluster by a named public source, `D` stated in the provider's
 * documentation, `T` tested by a tool of the provider's owner, `I` inferred (the text may differ).
 */
export type RuleCertainty = "L" | "D" | "T" | "I";

/** What a client is told when a statement is refused. */
export interface Refusal {
  readonly sqlstate: string;
  readonly message: string;
}

/** One thing that the provider refuses. */
export interface RefusalRule {
  readonly id: string;
  /** The node types of the parse tree that the rule looks at; none means every statement. */
  readonly on?: readonly string[];
  /** The day, YYYY-MM-DD, from which the provider accepts it. */
  readonly until?: string;
  /** @default "0A000" */
  readonly sqlstate?: string;
  readonly sure: RuleCertainty;
  /** Where it was read or recorded. */
  readonly source: string;
  /**
   * Looks at one statement.
   *
   * @returns The server's text, or a whole refusal where the SQLSTATE varies; undefined when the rule does not apply.
   */
  refuse(statement: Statement): string | Refusal | undefined;
}
