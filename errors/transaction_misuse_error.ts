import { DatabaseError, type DatabaseErrorOptions } from "./database_errors.ts";

/**
 * 500: incorrect use of a transaction. Its client was used after the end of the transaction (a missing `await`), or a
 * query on the outer client waits for the transaction that waits for the query. Nothing was sent to the database.
 *
 * @example
 * ```ts
 * import { isAppError, TransactionMisuseError } from "@trellis/fn/errors";
 *
 * const error = new TransactionMisuseError("The transaction has ended");
 * console.log(isAppError(error, "TRANSACTION_MISUSE"), error.statusCode); // true 500
 * ```
 */
export class TransactionMisuseError extends DatabaseError {
  override readonly name: string = "TransactionMisuseError";
  override readonly code: "TRANSACTION_MISUSE" = "TRANSACTION_MISUSE";

  /**
   * @param message For the log only: names the mistake and the fix.
   * @param options Query name and cause.
   */
  constructor(message: string, options: DatabaseErrorOptions = {}) {
    super(message, options);
  }

  /**
   * Adds the name of the query, unless the error has one.
   *
   * @param queryName The name given to `withQueryMetrics` or `defineQuery`.
   * @returns This error, or a copy with the name in its message.
   */
  forQuery(queryName: string): TransactionMisuseError {
    if (this.queryName !== undefined) return this;
    return new TransactionMisuseError(`Query ${queryName}: ${this.message}`, {
      queryName,
      cause: this,
    });
  }
}
