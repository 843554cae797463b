/** Row of a raw statement. */
export type Row = Record<string, unknown>;

/** Server session that runs SQL texts; for migrations, whose statements drizzle does not build. */
export interface SqlSession {
  /**
   * Runs one statement.
   *
   * @param text One statement, with `$1` for the first parameter.
   * @param params Texts, numbers, booleans and nulls.
   * @returns Its rows.
   */
  query(text: string, params?: readonly (string | number | boolean | null)[]): Promise<Row[]>;
  /**
   * Runs several statements in as few round trips as possible; outside of a transaction they form
   * one implicit transaction.
   *
   * @param statements The statements, without parameters.
   */
  script(statements: readonly string[]): Promise<void>;
}

/**
 * Runs one statement in a separate transaction and returns its rows. Runs it again after a
 * conflict.
 *
 * @param text One statement, without parameters.
 */
export type RunSql = (text: string) => Promise<Row[]>;
