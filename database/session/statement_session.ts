import type { DrizzleClient } from "./drizzle_client.ts";
import type { PlainSql } from "./plain_sql.ts";
import type { TransactionState } from "./transaction_state.ts";

/** Property of drizzle's session with the session of this package. */
export const SESSION: unique symbol = Symbol.for("@trellis/fn session");

/** A statement in the form of the server. */
export interface WrittenStatement {
  readonly text: string;
  readonly params: unknown[];
  /** For each parameter, true if the statement casts it to its column's type. */
  readonly isCast?: readonly boolean[] | undefined;
}

/** Session that runs statements which another session of the same client has prepared. */
export interface StatementSession {
  /** Key of the client's prepared statements, which its transactions share. */
  readonly statements: object & {
    /** True if the texts of statements differ from those that drizzle writes for PostgreSQL. */
    readonly hasOwnText?: boolean;
    /** Writes a statement of this package. */
    write(statement: PlainSql): WrittenStatement;
  };
  /** State of the transaction; `undefined` outside of transactions. */
  readonly state?: TransactionState;
  /**
   * Returns a prepared statement for this session.
   *
   * @param statement A statement of a session with the same key.
   */
  bind(statement: object): object;
}

/** Where a client keeps its session. */
interface SessionOwner {
  readonly [SESSION]?: StatementSession;
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
  return findSession(db);
}

/**
 * Returns the session of a client of this package.
 *
 * @param client Any value that may be a client.
 */
export function findSession(client: object): StatementSession | undefined {
  const own = client as { readonly _?: { readonly session?: SessionOwner } };
  return own._?.session?.[SESSION];
}
