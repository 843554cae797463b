import { authSessions, authUsers } from "./session_tables.ts";

/**
 * Default tables of session checks, which configurations without `schema` share. better-auth receives
 * the other tables when it starts.
 */
export const SESSION_TABLES: {
  readonly user: typeof authUsers;
  readonly session: typeof authSessions;
} = {
  user: authUsers,
  session: authSessions,
};
