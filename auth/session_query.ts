import type { AuthDatabase } from "./better_auth_types.ts";
import type { AuthSettings } from "./config.ts";
import { getDefaultSessionQuery } from "./default_session_query.ts";
import { prepareSessionQuery } from "./prepare_session_query.ts";
import { cacheByClient } from "./query_cache.ts";
import type { SessionQuery } from "./session_row.ts";

/** Returns the prepared query of a client and a configuration. */
export const getSessionQuery: (db: AuthDatabase, settings: AuthSettings) => SessionQuery =
  cacheByClient((db, settings) =>
    getDefaultSessionQuery(db, settings.schema, () => prepareSessionQuery(db, settings))
  );
