import type { StatementReader } from "./statement_reader.ts";

/** `BEGIN … COMMIT` block, by indexes of statements. */
export interface TransactionBlock {
  /** Index of BEGIN. */
  readonly from: number;
  /** Index of COMMIT. */
  readonly to: number;
}

/** Transaction control of a text. */
export interface TransactionControl {
  /** Pairs of BEGIN and COMMIT. */
  readonly blocks: readonly TransactionBlock[];
  /** Registry entries of statements that a runner cannot follow. */
  readonly refusals: ReadonlyMap<number, string>;
}

const BEGINS: ReadonlySet<string> = new Set(["BEGIN", "START"]);
const ENDS: ReadonlySet<string> = new Set(["COMMIT", "END"]);
const SAVEPOINTS: ReadonlySet<string> = new Set(["SAVEPOINT", "RELEASE"]);
const ROLLBACKS: ReadonlySet<string> = new Set(["ROLLBACK", "ABORT"]);

/** Transaction modes without effect: the server's own, or weaker ones. */
const DEFAULT_MODES =
  /^(?:(?:WORK|TRANSACTION|READ WRITE|NOT DEFERRABLE|ISOLATION LEVEL READ (?:UN)?COMMITTED|,) ?)*$/;

function getModes(reader: StatementReader): string {
  const words: string[] = [];
  for (let at = 1; at < reader.size; at++) words.push(reader.key(at));
  return words.join(" ");
}

/** Returns the registry entry of a statement that is always rejected. */
function getRefusal(reader: StatementReader): string | undefined {
  if (reader.isOneOf(0, SAVEPOINTS) || (reader.is(0, "ROLLBACK") && reader.find("TO", 1) >= 0)) {
    return "savepoint";
  }
  const isPrepared = reader.is(1, "PREPARED") || reader.is(0, "PREPARE", "TRANSACTION");
  if (isPrepared) return "two-phase-commit";
  if (reader.isOneOf(0, BEGINS)) {
    return DEFAULT_MODES.test(getModes(reader)) ? undefined : "transaction-modes";
  }
  if (reader.is(reader.size - 2, "AND", "CHAIN")) return "transaction-modes";
  return reader.isOneOf(0, ROLLBACKS) ? "transaction-rollback" : undefined;
}

/** Checks whether a statement begins or ends a transaction or a part of one. */
export function isTransactionControl(reader: StatementReader): boolean {
  const sets = [BEGINS, ENDS, SAVEPOINTS, ROLLBACKS];
  return sets.some((set) => reader.isOneOf(0, set)) || reader.is(0, "PREPARE", "TRANSACTION");
}

/**
 * Finds the statements of a text that begin and end transactions. Only pairs of BEGIN and COMMIT
 * can be followed. All else is rejected: one without the other, ROLLBACK, savepoints, prepared
 * transactions, isolation levels and other modes.
 *
 * @param statements The statements of a text, in order.
 */
export function readTransactionControl(statements: readonly StatementReader[]): TransactionControl {
  const blocks: TransactionBlock[] = [];
  const refusals = new Map<number, string>();
  let from: number | undefined;
  for (const [place, reader] of statements.entries()) {
    if (!isTransactionControl(reader)) continue;
    const refusal = getRefusal(reader);
    if (refusal !== undefined) refusals.set(place, refusal);
    if (refusal === "savepoint" || refusal === "two-phase-commit") continue;
    if (reader.isOneOf(0, BEGINS)) {
      if (from !== undefined) refusals.set(from, "transaction-unpaired");
      from = place;
    } else {
      if (from === undefined) refusals.set(place, refusal ?? "transaction-unpaired");
      else blocks.push({ from, to: place });
      from = undefined;
    }
  }
  if (from !== undefined) refusals.set(from, "transaction-unpaired");
  return { blocks, refusals };
}
