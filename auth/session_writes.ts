import { and, eq, gt, sql } from "drizzle-orm";
import type { AuthDatabase } from "./better_auth_types.ts";
import type { AuthSettings } from "./config.ts";

type Tables = Pick<AuthSettings, "schema">;

/**
 * Ends a session that has not expired.
 *
 * @param db The client.
 * @param settings The tables.
 * @param token The stored token.
 * @param now The new expiry time.
 * @returns The id of the session; empty if there is none.
 */
export async function endSession(
  db: AuthDatabase,
  { schema: { session } }: Tables,
  token: string,
  now: Date,
): Promise<{ id: string }[]> {
  return await db.update(session).set({ expiresAt: now, updatedAt: now })
    .where(and(eq(session.token, token), gt(session.expiresAt, now)))
    .returning({ id: session.id });
}

/**
 * Extends a session if its expiry time is unchanged.
 *
 * @param db The client.
 * @param settings The tables.
 * @param found Token and expiry time of the session, as it was read.
 * @param changes The new times.
 * @returns The new expiry time; empty if the session was changed.
 */
export async function extendSession(
  db: AuthDatabase,
  { schema: { session } }: Tables,
  found: { readonly token: string; readonly expiresAt: Date },
  changes: { readonly expiresAt: Date; readonly updatedAt: Date },
): Promise<{ expiresAt: Date }[]> {
  return await db.update(session).set(changes)
    .where(and(
      eq(session.token, found.token),
      // a Date has milliseconds, but the column has microseconds
      eq(
        sql`date_trunc('milliseconds', ${session.expiresAt})`,
        sql.param(found.expiresAt, session.expiresAt),
      ),
    ))
    .returning({ expiresAt: session.expiresAt });
}
