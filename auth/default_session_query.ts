import type { AuthDatabase } from "./better_auth_types.ts";

/**
 * Returns the query of a session with its user in the built-in tables. With `build.precompile`,
 * `trellis build` replaces this module by `precompiled_session_query.ts`.
 *
 * @param _db The client.
 * @param prepare Builds the query with drizzle.
 */
export function getDefaultSessionQuery(_db: AuthDatabase, prepare: () => object): object {
  return prepare();
}
