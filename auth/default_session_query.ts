import type { AuthDatabase } from "./better_auth_types.ts";
import type { AuthSchema } from "./resolve_schema.ts";

/**
 * Returns the query of a session with its user. With `build.precompile`, `trellis build` replaces
 * this module by `precompiled_session_query.ts`.
 *
 * @param _db The client.
 * @param _schema The tables.
 * @param prepare Builds the query with drizzle.
 */
export function getDefaultSessionQuery<Query>(
  _db: AuthDatabase,
  _schema: AuthSchema,
  prepare: () => Query,
): Query {
  return prepare();
}
