// Part of the second file of a built function without drizzle: the statements of session checks for
// other clients, and for servers with texts of their own.
import type { PgColumn } from "drizzle-orm/pg-core";
import type { AuthDatabase } from "../better_auth_types.ts";
import type { AuthSettings } from "../config.ts";
import { type ModelColumns, prepareOrganizationQuery } from "../organization_query.ts";
import { prepareSessionQuery } from "../prepare_session_query.ts";
import { authSessions, authUsers } from "../session_tables.ts";
import { endSession, extendSession } from "../session_writes.ts";

/** The values of {@link endSession} and {@link extendSession}. */
interface Values {
  readonly token: string;
  readonly now: Date;
  readonly found: Date;
  readonly expiresAt: Date;
  readonly updatedAt: Date;
}

type Define<Settings = AuthSettings> = (db: AuthDatabase, settings: Settings) => object;

/** drizzle's statements by key, from a client and settings. */
const DEFINED: Readonly<Record<string, Define>> = {
  "trellis:find_session": prepareSessionQuery,
  "trellis:find_organization": (db, settings) => {
    const { session, organization, member } = settings.schema as Record<string, unknown>;
    // the columns of a table are its properties
    const columns = { session, organization, member } as ModelColumns & Record<string, PgColumn>;
    return prepareOrganizationQuery(db, settings, columns);
  },
  "trellis:end_session": (db, settings) => ({
    execute: ({ token, now }: Values) => endSession(db, settings, token, now),
  }),
  "trellis:extend_session": (db, settings) => ({
    execute: ({ token, found, expiresAt, updatedAt }: Values) =>
      extendSession(db, settings, { token, expiresAt: found }, { expiresAt, updatedAt }),
  }),
};

const BUILT_IN: Partial<AuthSettings["schema"]> = { user: authUsers, session: authSessions };

/** The statements. Settings are given, without built-in tables, if the application has its own. */
export const STATEMENTS: Readonly<Record<string, Define<AuthSettings | undefined>>> = Object
  .fromEntries(
    Object.entries(DEFINED).map(([key, define]) => [
      key,
      (db, settings) => {
        const schema = { ...BUILT_IN, ...settings?.schema };
        return define(db, { library: {}, ...settings, schema } as AuthSettings);
      },
    ]),
  );
