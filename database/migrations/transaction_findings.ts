import { getIncompatibility } from "../distsql/incompatibilities.ts";
import type { SqlStatement } from "../distsql/statement.ts";
import type { StatementReader } from "../distsql/statement_reader.ts";
import { maskStatement } from "../distsql/mask_statement.ts";
import { createLocator, findFirstWord } from "../distsql/text_position.ts";
import type { TransactionControl } from "../distsql/transaction_blocks.ts";
import type { PlanFinding } from "./plan_finding.ts";
import { isTransactionSetting } from "./setting_statements.ts";

/** A statement of a file with its tokens read. */
export interface ReadStatement {
  /** The statement as written. */
  readonly source: SqlStatement;
  /** Its tokens. */
  readonly reader: StatementReader;
}

/** What a file says about transactions. */
export interface FileTransactions {
  /** The file's name. */
  readonly file: string;
  /** Its text. */
  readonly text: string;
  /** Its statements. */
  readonly statements: readonly ReadStatement[];
  /** Which of them begin and end transactions. */
  readonly control: TransactionControl;
  /** Whether each statement, or each pair of BEGIN and COMMIT, is a transaction. */
  readonly isStepwise: boolean;
}

/** What is wrong with a statement. */
export type Problem = Pick<PlanFinding, "rule" | "message" | "advice">;

/** A setting of a transaction that ends at once. */
export const SETTING_OF_NOTHING: Problem = {
  rule: "migration-transaction-setting",
  message: "sets something for the rest of its transaction, which ends with the statement",
  advice:
    "Put BEGIN before it and COMMIT after the statements that it is meant for, or take it out.",
};

const ALONE_IN_BLOCK: Problem = {
  rule: "migration-transaction",
  message: "cannot run in a transaction, but stands between BEGIN and COMMIT",
  advice: "Put it before BEGIN or after COMMIT.",
};

/**
 * Finds what a runner cannot follow: statements that begin or end a transaction and are no pair, settings of a transaction
 * that ends at once, and statements in a transaction that need one of their own.
 *
 * @param transactions The file.
 * @param cannotShare Whether the server refuses a statement in a transaction.
 * @returns One error for each such statement.
 */
export function findTransactionProblems(
  transactions: FileTransactions,
  cannotShare: (reader: StatementReader) => boolean,
): PlanFinding[] {
  const { file, text, statements, control, isStepwise } = transactions;
  const problems = statements.map(({ reader }, place): Problem | undefined => {
    const refusal = control.refusals.get(place);
    if (refusal !== undefined) return fromEntry(refusal, reader);
    const isInBlock = control.blocks.some(({ from, to }) => from < place && place < to);
    if (isInBlock) return cannotShare(reader) ? ALONE_IN_BLOCK : undefined;
    return isStepwise && isTransactionSetting(reader) ? SETTING_OF_NOTHING : undefined;
  });
  if (problems.every((problem) => problem === undefined)) return [];
  const locate = createLocator(text);
  return problems.flatMap((problem, place) => {
    if (problem === undefined) return [];
    const { source } = statements[place];
    const statement = maskStatement(source.tokens);
    return { severity: "error", ...problem, file, ...locate(findFirstWord(source)), statement };
  });
}

/** A refusal by an entry of the registry. */
export function fromEntry(id: string, reader: StatementReader): Problem {
  const { title, advice } = getIncompatibility(id)!;
  return { rule: id, message: `${reader.key(0)}: ${title}`, advice };
}
