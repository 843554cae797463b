import { decodeDate } from "../database/queries/column_codecs.ts";
import { definePrecompiledStatement } from "../database/queries/precompiled_statement.ts";

/**
 * Returns the statement that drizzle builds for a session with its user in the built-in tables, so
 * that the first request of a process does not build it.
 */
export const getDefaultSessionQuery: ReturnType<typeof definePrecompiledStatement> =
  /* @__PURE__ */ definePrecompiledStatement({
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
