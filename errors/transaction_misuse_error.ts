import { DatabaseError, type DatabaseErrorOptions } from "./database_errors.ts";

/**
 * 500: the program uses a transaction in a way that cannot work. Its client was used after the transaction's end (a
 * forgotten `await`), or a query on the outer client waits for the transaction that waits for the query. Nothing was sent.
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
   * Names the query, where the error does not name it yet.
   *
   * @param queryName The name given to `withQueryMetrics` or `defineQuery`.
   * @returns This error, or one that names the query in its message too.
   */
  forQuery(queryName: string): TransactionMisuseError {
    if (this.queryName !== undefined) return this;
    return new TransactionMisuseError(`Query ${queryName}: ${this.message}`, {
      queryName,
      cause: this,
    });
  }
}
