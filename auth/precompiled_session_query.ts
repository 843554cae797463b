import { decodeDate } from "../database/queries/column_codecs.ts";
import { definePrecompiledStatement } from "../database/queries/precompiled_statement.ts";
import type { AuthDatabase } from "./better_auth_types.ts";
import type { AuthSchema } from "./resolve_schema.ts";
import { authSessions, authUsers } from "./session_tables.ts";

/**
 * The statement that drizzle builds for the built-in tables, so that the first request of a process
 * does not build it.
 */
const getStatement = /* @__PURE__ */ definePrecompiledStatement({
  name: "trellis_find_session",
  text: 'select "sessions"."id", "sessions"."token", "sessions"."expires_at", "users"."id", ' +
    '"users"."email", "users"."name", "users"."image", "users"."email_verified", ' +
    '"sessions"."created_at", "sessions"."updated_at" from "sessions" inner join "users" ' +
    'on "users"."id" = "sessions"."user_id" where "sessions"."token" = $1',
  params: [{ placeholder: "token" }],
  cells: [
    { path: ["id"] },
    { path: ["token"] },
    { path: ["expiresAt"], decode: decodeDate },
    { path: ["userId"] },
    { path: ["email"] },
    { path: ["name"] },
    { path: ["image"] },
    { path: ["emailVerified"] },
    { path: ["createdAt"], decode: decodeDate },
    { path: ["updatedAt"], decode: decodeDate },
  ],
  notNullable: { sessions: true, users: true },
  metadata: { type: "select", tables: ["sessions", "users"] },
});

/**
 * Returns the query of a session with its user.
 *
 * @param db The client.
 * @param schema The tables. Those of the application may have other names and columns.
 * @param prepare Builds the query with drizzle.
 */
export function getDefaultSessionQuery<Query extends object>(
  db: AuthDatabase,
  schema: AuthSchema,
  prepare: () => Query,
): Query {
  const isDefault = schema.user === authUsers && schema.session === authSessions;
  return isDefault ? getStatement(db, prepare) as Query : prepare();
}
