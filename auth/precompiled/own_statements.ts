import { ConfigurationError } from "../../errors/http_errors.ts";
import type { AuthDatabase } from "../better_auth_types.ts";
import type { AuthSettings } from "../config.ts";
import type { prepareOrganizationQuery } from "../organization_query.ts";
import type { SessionQuery } from "../session_row.ts";
import { authSessions, authUsers } from "../session_tables.ts";
import type { endSession, extendSession } from "../session_writes.ts";

/** The statements of session checks with tables of the application. */
export interface OwnStatements {
  prepareSessionQuery(db: AuthDatabase, settings: AuthSettings): SessionQuery;
  readonly prepareOrganizationQuery: typeof prepareOrganizationQuery;
  readonly endSession: typeof endSession;
  readonly extendSession: typeof extendSession;
}

let own: OwnStatements | undefined;

/** Sets the statements. The module that `trellis build` writes for the tables calls it. */
export function setOwnStatements(statements: OwnStatements): void {
  own = statements;
}

/**
 * Returns the statements for tables of the application, or `undefined` for the built-in tables, whose
 * statements need no code that writes SQL.
 *
 * @throws {ConfigurationError} If the build has not seen the tables. A function that declares tables
 * contains drizzle, so its bundle does not have this module.
 */
export function getOwnStatements(
  { user, session }: AuthSettings["schema"],
): OwnStatements | undefined {
  if (user === authUsers && session === authSessions) return undefined;
  if (own !== undefined) return own;
  throw new ConfigurationError(
    "trellis build compiled the session check for the built-in tables, but AuthConfig.schema has " +
      "others: set build.precompile to false",
  );
}
