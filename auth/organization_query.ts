import { and, eq, sql } from "drizzle-orm";
import type { PgColumn, PgTable } from "drizzle-orm/pg-core";
import type { AuthDatabase } from "./better_auth_types.ts";
import type { AuthSettings } from "./config.ts";
import { prepareSessionQuery } from "./prepare_session_query.ts";
import type { SessionQuery } from "./session_row.ts";

/** The columns of better-auth's organization plugin that a check reads. */
export interface ModelColumns {
  /** Columns of sessions. */
  readonly session: Record<"activeOrganizationId", PgColumn>;
  /** Columns of organizations. */
  readonly organization: Record<"id" | "name" | "slug", PgColumn>;
  /** Columns of members. */
  readonly member: Record<"id" | "organizationId" | "userId" | "role", PgColumn>;
}

/**
 * Prepares the query of a session with its user, its active organization and the user's membership
 * in it.
 *
 * @param db The client.
 * @param settings The configuration.
 * @param columns The columns of the organization plugin.
 * @returns The query.
 */
export function prepareOrganizationQuery(
  db: AuthDatabase,
  settings: AuthSettings,
  { session, organization: { id, name, slug }, member }: ModelColumns,
): SessionQuery {
  const { schema } = settings;
  return prepareSessionQuery(db, settings, {
    columns: { id, name, slug, memberId: member.id, role: member.role },
    tables: [
      { table: schema.organization as PgTable, on: equals(id, session.activeOrganizationId) },
      {
        table: schema.member as PgTable,
        on: and(equals(member.organizationId, id), equals(member.userId, schema.user.id))!,
      },
    ],
  });
}

/**
 * Compares ids that may be `uuid` in one table and `text` in the other. The left side is not cast, so
 * that its index is used.
 */
function equals(left: PgColumn, right: PgColumn): ReturnType<typeof eq> {
  const type = left.getSQLType();
  return type === right.getSQLType() ? eq(left, right) : sql`${left} = ${right}::${sql.raw(type)}`;
}
