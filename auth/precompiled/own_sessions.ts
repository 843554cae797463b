import { prepareOrganizationQuery } from "./own_organization_query.ts";
import { prepareSessionQuery } from "./own_session_query.ts";
import { endSession, extendSession } from "./own_session_writes.ts";
import { setOwnStatements } from "./own_statements.ts";

/** Makes session checks use statements that are written for the tables of the application. */
export function useOwnSessions(): void {
  setOwnStatements({ prepareSessionQuery, prepareOrganizationQuery, endSession, extendSession });
}
