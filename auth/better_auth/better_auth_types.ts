import type { Auth, BetterAuthOptions as LibraryOptions } from "better-auth";
import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";

/**
 * better-auth's endpoints as functions: `signUpEmail`, `signInEmail`, `signOut`, `getSession`, …
 */
export type BetterAuthApi = Auth<LibraryOptions>["api"];

/** better-auth's options. */
export type BetterAuthOptions = LibraryOptions;

/** A drizzle client for PostgreSQL, of any driver and any schema. */
export type AuthDatabase = Pick<
  PgDatabase<PgQueryResultHKT>,
  "select" | "insert" | "update" | "delete" | "execute"
>;
