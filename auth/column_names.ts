import {
  AUTH_ACCOUNT_COLUMNS,
  AUTH_SESSION_COLUMNS,
  AUTH_USER_COLUMNS,
  AUTH_VERIFICATION_COLUMNS,
} from "./columns.ts";

/** The property names of the built-in columns by model. */
export const COLUMN_NAMES: Readonly<
  Record<"user" | "session" | "account" | "verification", readonly string[]>
> = {
  user: Object.keys(AUTH_USER_COLUMNS),
  session: Object.keys(AUTH_SESSION_COLUMNS),
  account: Object.keys(AUTH_ACCOUNT_COLUMNS),
  verification: Object.keys(AUTH_VERIFICATION_COLUMNS),
};
