import { listColumns, type SqlColumn } from "../../database/session/column_sql.ts";

/** The columns of users that better-auth's admin plugin adds for bans. */
export interface BanColumns<Value> {
  readonly banned: Value;
  readonly banExpires?: Value;
}

/**
 * Returns the columns of a ban, if the table has those of the admin plugin. A table of the application
 * may have another column `banned`.
 *
 * @param user The table of users.
 */
export function findBanColumns(user: object): BanColumns<SqlColumn> | undefined {
  const { banned, banReason, banExpires } = listColumns(user);
  return banned && banReason && { banned, ...(banExpires && { banExpires }) };
}

/**
 * Checks for a ban that has not ended.
 *
 * @param user The user's row.
 * @param nowMs The current time.
 */
export function isBanned(
  { banned, banExpires }: Partial<BanColumns<unknown>>,
  nowMs: number,
): boolean {
  if (banned !== true) return false;
  // a ban without an end is not over
  return !banExpires || !(new Date(banExpires as Date | string).getTime() < nowMs);
}
