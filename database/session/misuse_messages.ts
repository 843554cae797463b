import { TransactionMisuseError } from "../../errors/transaction_misuse_error.ts";
import type { Statement } from "./driver.ts";

const KEYWORD =
  /^(?:\s|\()*(select|insert|update|delete|merge|with|values|create|alter|drop|truncate|grant|revoke|set)\b/i;

/**
 * Describes a statement without its SQL, which may contain values.
 *
 * @returns For example `the select from notes`.
 */
export function describeStatement({ text, name, metadata }: Statement): string {
  if (name !== undefined) return `the prepared query "${name}"`;
  if (metadata !== undefined) {
    const { type, tables } = metadata;
    return `the ${type} on ${(typeof tables === "function" ? tables() : tables).join(", ")}`;
  }
  const keyword = KEYWORD.exec(text)?.[1].toUpperCase();
  return keyword === undefined ? "the statement" : `the ${keyword} statement`;
}

/**
 * Creates the error for a client that is used after its transaction.
 *
 * @param what The rejected statement.
 * @returns The error.
 */
export function transactionEnded(what: string): TransactionMisuseError {
  return new TransactionMisuseError(
    `${capitalize(what)} was not sent: its transaction has ended. An await is missing in the ` +
      "function given to withTransaction, or the transaction's client (tx) was kept for later",
  );
}

const REMEDY = "Use the transaction's client: tx, or .on(tx, …) for a defined query";

/**
 * Creates the error for a query that waits for its own transaction.
 *
 * @param what The query.
 * @param maxConnections Size of the pool.
 * @returns The error.
 */
export function waitsForItself(what: string, maxConnections: number): TransactionMisuseError {
  const holder = maxConnections === 1
    ? "the transaction holds the only connection and waits for it"
    : `transactions that wait for such queries hold all ${maxConnections} connections`;
  return new TransactionMisuseError(
    `${capitalize(what)} would wait for itself: it runs on the outer client inside of ` +
      `withTransaction, and ${holder}. ${REMEDY}`,
  );
}

/**
 * Creates the error for a query that waited for idle transactions.
 *
 * @param what The query.
 * @param waitedMs Time that it waited.
 * @param maxConnections Size of the pool.
 * @returns The error.
 */
export function waitedForIdle(
  what: string,
  waitedMs: number,
  maxConnections: number,
): TransactionMisuseError {
  const holder = maxConnections === 1
    ? "the transaction that holds the only connection"
    : `the transactions that hold all ${maxConnections} connections`;
  return new TransactionMisuseError(
    `${capitalize(what)} waited for ${(waitedMs / 1000).toFixed(1)} s, ` +
      `while ${holder} sent nothing. ` +
      `It waits for itself if it is a part of such a transaction. ` +
      `${REMEDY}. If it is not, raise maxConnections`,
  );
}

function capitalize(text: string): string {
  return text[0].toUpperCase() + text.slice(1);
}
