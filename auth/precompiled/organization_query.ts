import type { AuthDatabase } from "../better_auth_types.ts";
import type { AuthSettings } from "../config.ts";
import type { ModelColumns } from "../organization_query.ts";
import type { SessionQuery } from "../session_row.ts";
import { getOwnStatements } from "./own_statements.ts";

/**
 * Prepares the query of a session with its organization, in a bundle without drizzle. Tables with
 * organizations belong to the application.
 */
export function prepareOrganizationQuery(
  db: AuthDatabase,
  settings: AuthSettings,
  columns: ModelColumns,
): SessionQuery {
  return getOwnStatements(settings.schema)!.prepareOrganizationQuery(db, settings, columns);
}
