import { eq, getTableColumns, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import { getSearchedValue, type SearchAdapter } from "./adapter_search.ts";

/** The search for the user of an email address with all of the user's accounts. */
const SEARCHED = { model: "user", field: "email", joined: "account" };

/**
 * Reads a user and their accounts in one round trip. better-auth reads the user by email address and
 * then the accounts by the user's id, unless `experimentalJoins` is set. Here both statements are sent
 * together, because the second contains a subquery for the user's id. A sign-in takes one round trip
 * less.
 * Not for `generateId: "serial"`, with which better-auth converts ids in conditions to numbers.
 *
 * @param factory The function that creates the adapter.
 * @param user The table of users.
 * @returns A function that creates an adapter which reads them together.
 */
export function readAccountsWithUser<Options, T extends object>(
  factory: (options: Options) => T,
  user: PgTable,
): (options: Options) => T {
  const { id, email } = getTableColumns(user) as Record<string, PgColumn>;
  return function createAdapter(options) {
    const adapter = factory(options);
    const target = adapter as unknown as SearchAdapter;
    const { findOne, findMany } = target;
    target.findOne = async function findTogether(input) {
      const address = getSearchedValue(input, SEARCHED);
      if (address === undefined) return await findOne(input);
      const userId = sql`any (select ${id} from ${user} where ${eq(email, address)})`;
      const [found, accounts] = await Promise.all([
        findOne({ ...input, join: undefined }),
        findMany({ model: "account", where: [{ field: "userId", value: userId }] }),
      ]);
      // the address may belong to several rows of a table that allows it
      return found && { ...found, account: accounts.filter(({ userId }) => userId === found.id) };
    };
    return adapter;
  };
}
