import type { AuthDatabase } from "./better_auth_types.ts";
import type { AuthSettings } from "./config.ts";

/**
 * Returns a function that prepares a query once for each client and configuration.
 *
 * @param prepare Prepares the query. An error is not cached.
 */
export function cacheByClient<Query, Settings extends object = AuthSettings>(
  prepare: (db: AuthDatabase, settings: Settings) => Query,
): (db: AuthDatabase, settings: Settings) => Query {
  const queries: WeakMap<AuthDatabase, WeakMap<Settings, Query>> = new WeakMap();
  return function getQuery(db, settings): Query {
    let ofClient = queries.get(db);
    if (ofClient === undefined) queries.set(db, ofClient = new WeakMap());
    let query = ofClient.get(settings);
    if (query === undefined) ofClient.set(settings, query = prepare(db, settings));
    return query;
  };
}
