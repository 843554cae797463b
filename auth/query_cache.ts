import type { AuthDatabase } from "./better_auth_types.ts";
import type { AuthSettings } from "./config.ts";

/**
 * Returns a function that prepares a query once for each client and configuration.
 *
 * @param prepare Prepares the query. An error is not cached.
 */
export function cacheByClient<Query>(
  prepare: (db: AuthDatabase, settings: AuthSettings) => Query,
): (db: AuthDatabase, settings: AuthSettings) => Query {
  const queries: WeakMap<AuthDatabase, WeakMap<AuthSettings, Query>> = new WeakMap();
  return function getQuery(db, settings): Query {
    let ofClient = queries.get(db);
    if (ofClient === undefined) queries.set(db, ofClient = new WeakMap());
    let query = ofClient.get(settings);
    if (query === undefined) ofClient.set(settings, query = prepare(db, settings));
    return query;
  };
}
