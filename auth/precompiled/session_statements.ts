// Part of the second file of a built function without drizzle. The keys are those of the compiled
// statements of the session check.
import { and, eq, gt, sql } from "drizzle-orm";
import type { AuthDatabase } from "../better_auth_types.ts";
import { prepareSessionQuery } from "../prepare_session_query.ts";
import { authSessions, authUsers } from "../session_tables.ts";

/** The statements of the session check on the built-in tables. */
export const STATEMENTS: Readonly<Record<string, (db: object) => object>> = {
  "trellis:find_session": (db) =>
    prepareSessionQuery(db as AuthDatabase, {
      schema: { user: authUsers, session: authSessions },
      library: {},
    }),
  "trellis:end_session": (db) =>
    (db as AuthDatabase).update(authSessions)
      .set({ expiresAt: sql.placeholder("now"), updatedAt: sql.placeholder("now") } as never)
      .where(and(
        eq(authSessions.token, sql.placeholder("token")),
        gt(authSessions.expiresAt, sql.param(sql.placeholder("now"), authSessions.expiresAt)),
      ))
      .returning({ id: authSessions.id })
      .prepare("trellis_end_session"),
  "trellis:extend_session": (db) =>
    (db as AuthDatabase).update(authSessions)
      .set(
        {
          expiresAt: sql.placeholder("expiresAt"),
          updatedAt: sql.placeholder("updatedAt"),
        } as never,
      )
      .where(and(
        eq(authSessions.token, sql.placeholder("token")),
        eq(
          sql`date_trunc('milliseconds', ${authSessions.expiresAt})`,
          sql.param(sql.placeholder("found"), authSessions.expiresAt),
        ),
      ))
      .returning({ expiresAt: authSessions.expiresAt })
      .prepare("trellis_extend_session"),
};
