/**
 * The error of a failed statement in a bundle without drizzle: the message and the members of
 * drizzle's class.
 */
export class DrizzleQueryError extends Error {
  /** The statement. */
  readonly query: string;
  /** Its parameters. */
  readonly params: unknown[];

  /**
   * @param query The statement.
   * @param params Its parameters.
   * @param cause The error of the driver.
   */
  constructor(query: string, params: unknown[], cause?: Error) {
    super(`Failed query: ${query}\nparams: ${params}`);
    this.query = query;
    this.params = params;
    this.cause = cause;
    Error.captureStackTrace(this, DrizzleQueryError);
  }
}
