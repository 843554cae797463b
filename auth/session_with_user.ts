import { eq, getTableColumns, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { getSearchedValue, type SearchAdapter } from "./adapter_search.ts";

/** The search for the session of a token with its user. */
const SEARCHED = { model: "session", field: "token", joined: "user" };

/**
 * Reads a session and its user in one round trip, which each route with a session needs. better-auth
 * reads the session by its token and then the user by the session's user id, unless
 * `experimentalJoins` is set. Here both statements are sent together, because the second contains a
 * subquery for the user's id.
 * Not for `generateId: "serial"`, with which better-auth converts ids in conditions to numbers.
 *
 * @param factory The function that creates the adapter.
 * @param session The table of sessions.
 * @returns A function that creates an adapter which reads them together.
 */
export function readUserWithSession<Options, T extends object>(
  factory: (options: Options) => T,
  session: PgTable,
): (options: Options) => T {
  const { token, userId } = getTableColumns(session) as Record<string, PgColumn>;
  return function createAdapter(options) {
    const adapter = factory(options);
    const target = adapter as unknown as SearchAdapter;
    const { findOne } = target;
    target.findOne = async function findTogether(input) {
      const value = getSearchedValue(input, SEARCHED);
      if (value === undefined) return await findOne(input);
      const id = sql`any (select ${userId} from ${session} where ${eq(token, value)})`;
      const [found, user] = await Promise.all([
        findOne({ ...input, join: undefined }),
        findOne({ model: "user", where: [{ field: "id", value: id }] }),
      ]);
      // a table may have several sessions with a token, or one without a user
      const isOwner = found === null || user?.id === found.userId;
      return isOwner ? found && { ...found, user } : await findOne(input);
    };
    return adapter;
  };
}
