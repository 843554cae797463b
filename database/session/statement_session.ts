import type { DrizzleClient } from "../providers/provider.ts";

/** Session that runs statements which another session of the same client has prepared. */
export interface StatementSession {
  /** Key of the client's prepared statements, which its transactions share. */
  readonly statements: object & {
    /** True if the texts of statements differ from those that drizzle writes for PostgreSQL. */
    readonly hasOwnText?: boolean;
  };
  /**
   * Returns a prepared statement for this session.
   *
   * @param statement A statement of a session with the same key.
   */
  bind(statement: object): object;
}

/**
 * Returns the session of a client or of a transaction's client.
 *
 * @param db The client.
 * @returns The session, or `undefined` if the client was not created by this package.
 */
export function getStatementSession<TSchema extends Record<string, unknown>>(
  db: DrizzleClient<TSchema>,
): StatementSession | undefined {
  const session = (db as { _?: { session?: object } })._?.session;
  return session !== undefined && "bind" in session ? session as StatementSession : undefined;
}
