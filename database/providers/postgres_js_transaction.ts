import type { Sql, TransactionSql } from "postgres";
import type { StatementWatch } from "./statement_limit.ts";

/** Gate that every statement of a transaction passes. */
export interface StatementGate {
  /** Runs a statement, unless the transaction's connection is lost. */
  run<T>(statement: () => PromiseLike<T>): Promise<T>;
}

/**
 * Runs `sql.begin` on connections that may end in the middle. postgres.js 3.4.9 continues such a
 * transaction on the same connection object: its ROLLBACK on a closed socket throws an error that
 * cannot be caught, and after a reconnect the next statement runs outside of any transaction.
 * Therefore no statement is sent once the connection is known to be lost; the promise of `begin`
 * rejects when its socket closes.
 *
 * @param sql The pool.
 * @param fn The work; each statement must pass the gate.
 * @param watch Watches BEGIN, each statement, and COMMIT or ROLLBACK.
 * @param modes The modes of BEGIN: `isolation level repeatable read`.
 * @returns The result of `fn`.
 */
export function beginSafely<T>(
  sql: Sql,
  fn: (tx: TransactionSql, gate: StatementGate) => Promise<T>,
  watch?: (onSilent: (error: unknown) => void) => StatementWatch,
  modes = "",
): Promise<T> {
  let isGone = false;
  let tellLoss = (_error: unknown): void => {};
  const watched = watch?.((error) => {
    isGone = true;
    tellLoss(error);
  });
  const gate: StatementGate = {
    async run<V>(statement: () => PromiseLike<V>): Promise<V> {
      if (isGone) {
        throw Object.assign(new Error("The transaction's connection was lost"), {
          code: "CONNECTION_CLOSED",
        });
      }
      watched?.sent();
      try {
        return await statement();
      } catch (error) {
        if (endsConnection(error)) isGone = true;
        throw error;
      } finally {
        watched?.ended();
      }
    },
  };
  const ended = new Promise<T>((resolve, reject) => {
    // the first error is more precise than the close of the socket that follows
    tellLoss = reject;
    watched?.sent();
    const whole = sql.begin(modes, async (tx) => {
      // BEGIN was answered
      watched?.ended();
      try {
        const result = await fn(tx, gate);
        if (!isGone) return result;
      } catch (error) {
        if (!isGone) throw error;
        tellLoss(error);
      } finally {
        // COMMIT or ROLLBACK follows
        watched?.sent();
      }
      return await new Promise<never>(() => {});
    }) as Promise<T>;
    whole.then(resolve, (error) => {
      isGone = true;
      reject(error);
    });
  });
  return watched === undefined ? ended : ended.finally(() => watched.close());
}

/** Checks for errors after which the connection is closed. */
export function endsConnection(error: unknown): boolean {
  const { code, severity, severity_local, syscall } = error as Record<string, unknown>;
  return severity === "FATAL" || severity_local === "FATAL" || severity === "PANIC" ||
    syscall !== undefined ||
    (typeof code === "string" && code.startsWith("CONNECTION_"));
}
