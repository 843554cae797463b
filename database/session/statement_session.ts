import type { PoolSession, TransactionSession } from "./session.ts";

/** Property of drizzle's session with the session of this package. */
export const SESSION: unique symbol = Symbol.for("@trellis/fn session");

/** Where a client keeps its session. */
interface SessionOwner {
  readonly [SESSION]?: PoolSession | TransactionSession;
}

/**
 * Returns the session of a client or of a transaction's client.
 *
 * @param client Any value that may be a client.
 * @returns The session, or `undefined` if the client was not created by this package.
 */
export function findSession(client: object): PoolSession | TransactionSession | undefined {
  const own = client as { readonly _?: { readonly session?: SessionOwner } };
  return own._?.session?.[SESSION];
}
