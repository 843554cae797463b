import { getIncompatibility } from "../registry/incompatibilities.ts";
import type { SqlStatement } from "../../sql/statement.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { maskStatement } from "../../sql/mask_statement.ts";
import { createLocator, findFirstWord } from "../../sql/text_position.ts";
import type { TransactionControl } from "../../sql/transaction_blocks.ts";
import type { PlanFinding } from "../../sql/plan_finding.ts";
import { isTransactionSetting } from "../../sql/setting_statements.ts";

/** Parsed statement of a file. */
export interface ReadStatement {
  /** The statement as written. */
  readonly source: SqlStatement;
  /** Its tokens. */
  readonly reader: StatementReader;
}

/** File with its transaction control. */
export interface FileTransactions {
  /** The file's name. */
  readonly file: string;
  /** Its text. */
  readonly text: string;
  /** Its statements. */
  readonly statements: readonly ReadStatement[];
  /** Statements that begin and end transactions. */
  readonly control: TransactionControl;
  /** True if each statement, or each pair of BEGIN and COMMIT, is a separate transaction. */
  readonly isStepwise: boolean;
}

/** Problem of a statement. */
export type Problem = Pick<PlanFinding, "rule" | "message" | "advice">;

/** Problem: a setting in a transaction that ends immediately. */
export const SETTING_OF_NOTHING: Problem = {
  rule: "migration-transaction-setting",
  message: "changes a setting for the rest of its transaction, which ends with this statement",
  advice:
    "Put BEGIN before it and COMMIT after the statements that need the setting, or remove it.",
};

const ALONE_IN_BLOCK: Problem = {
  rule: "migration-transaction",
  message: "cannot run in a transaction, but is between BEGIN and COMMIT",
  advice: "Move it before BEGIN or after COMMIT.",
};

const PSQL_COMMAND: Problem = {
  rule: "psql-command",
  message: "is a psql command, which servers do not understand",
  advice: "Write it as SQL.",
};

/**
 * Finds statements that the runner cannot follow: unpaired BEGIN and COMMIT, settings of a
 * transaction that ends immediately, statements within a transaction that cannot be part of one,
 * and commands of psql.
 *
 * @param transactions The file.
 * @param cannotShare Checks whether the server rejects a statement in a transaction.
 * @returns One error per statement.
 */
export function findStatementProblems(
  transactions: FileTransactions,
  cannotShare: (reader: StatementReader) => boolean,
): PlanFinding[] {
  const { file, text, statements, control, isStepwise } = transactions;
  const problems = statements.map(({ reader }, place): Problem | undefined => {
    if (reader.token(0)?.kind === "psql") return PSQL_COMMAND;
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

/** Creates a problem from an entry of the registry. */
export function fromEntry(id: string, reader: StatementReader): Problem {
  const { title, advice } = getIncompatibility(id)!;
  return { rule: id, message: `${reader.key(0)}: ${title}`, advice };
}
