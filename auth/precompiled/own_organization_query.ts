import type { AuthDatabase } from "../better_auth_types.ts";
import type { AuthSettings } from "../config.ts";
import type { ModelColumns } from "../organization_query.ts";
import type { SessionQuery } from "../session_row.ts";
import { withCodecs } from "./builtin_tables.ts";
import { prepareSessionQuery } from "./own_session_query.ts";
import { sql, type SqlPart } from "./statement_text.ts";
import type { AuthColumn } from "./table.ts";

/** The columns of {@link ModelColumns} without drizzle's classes. */
type Columns = {
  readonly [Model in keyof ModelColumns]: Record<keyof ModelColumns[Model], AuthColumn>;
};

/**
 * Prepares the query of a session with its user, its active organization and the user's membership
 * in it for tables of the application, in a bundle without drizzle.
 */
export function prepareOrganizationQuery(
  db: AuthDatabase,
  settings: AuthSettings,
  columns: ModelColumns,
): SessionQuery {
  const { session, organization: { id, name, slug }, member } = columns as unknown as Columns;
  const { id: userId } = withCodecs(settings).schema.user as unknown as Record<"id", AuthColumn>;
  const isMember = sql`(${equals(member.organizationId, id)} and ${equals(member.userId, userId)})`;
  return prepareSessionQuery(db, settings, {
    columns: { id, name, slug, memberId: member.id, role: member.role },
    tables: [
      { table: id.table, on: equals(id, session.activeOrganizationId) },
      { table: member.id.table, on: isMember },
    ],
  });
}

/** Compares ids, whose types may differ. */
function equals(left: AuthColumn, right: AuthColumn): SqlPart {
  const isSame = left.sqlType === right.sqlType;
  return sql`${left} = ${right}${isSame ? "" : `::${left.sqlType}`}`;
}
