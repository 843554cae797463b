import { loadDrizzle } from "../../database/precompiled/load_drizzle.ts";
import type { AuthDatabase } from "../better_auth_types.ts";
import type { AuthSettings } from "../config.ts";
import { getDefaultSessionQuery } from "../precompiled_session_query.ts";
import { cacheByClient } from "../query_cache.ts";
import type { SessionQuery } from "../session_row.ts";
import { getOwnStatements } from "./own_statements.ts";

/** Returns the query of a session with its user, in a bundle without drizzle. */
export const getSessionQuery: (db: AuthDatabase, settings: AuthSettings) => SessionQuery =
  cacheByClient((db, settings) =>
    getOwnStatements(settings.schema)?.prepareSessionQuery(db, settings) ??
      getDefaultSessionQuery(
        db,
        settings.schema,
        () => loadDrizzle().statements["trellis:find_session"](db) as SessionQuery,
      )
  );
