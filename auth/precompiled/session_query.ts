import { loadDrizzle } from "../../database/precompiled/load_drizzle.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { AuthDatabase } from "../better_auth_types.ts";
import type { AuthSettings } from "../config.ts";
import { getDefaultSessionQuery } from "../precompiled_session_query.ts";
import { cacheByClient } from "../query_cache.ts";
import { authSessions, authUsers } from "../session_tables.ts";
import type { SessionQuery } from "../session_row.ts";

/** Returns the query of a session with its user, in a bundle without drizzle. */
export const getSessionQuery: (db: AuthDatabase, settings: AuthSettings) => SessionQuery =
  cacheByClient((db, { schema }) =>
    getDefaultSessionQuery(db, schema, () => {
      assertDefaultTables(schema);
      return loadDrizzle().statements["trellis:find_session"](db) as SessionQuery;
    })
  );

/**
 * Throws for tables of the application. A function that declares tables contains drizzle, so its
 * bundle does not have this module.
 */
export function assertDefaultTables({ user, session }: AuthSettings["schema"]): void {
  if (user === authUsers && session === authSessions) return;
  throw new ConfigurationError(
    "trellis build compiled the session check for the built-in tables, but AuthConfig.schema has " +
      "others: set build.precompile to false",
  );
}
