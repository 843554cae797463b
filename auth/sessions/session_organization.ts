import type { ActiveOrganization, OrganizationRule } from "../../core/http/session.ts";
import { equalsSql, listColumns } from "../../database/session/column_sql.ts";
import { isTable } from "../../database/session/drizzle_table.ts";
import { sql } from "../../database/session/plain_sql.ts";
import { ConfigurationError, ForbiddenError } from "../../errors/http_errors.ts";
import type { AuthDatabase } from "../better_auth/better_auth_types.ts";
import type { AuthSettings } from "../config/config.ts";
import { getSessionTables, type ModelTable } from "../config/session_tables.ts";
import {
  cacheByClient,
  type SessionQuery,
  type SessionRow,
  writeSessionQuery,
} from "./session_statements.ts";

/** The columns of better-auth's organization plugin that a check reads. */
const NEEDED = {
  session: ["activeOrganizationId"],
  organization: ["id", "name", "slug"],
  member: ["id", "organizationId", "userId", "role"],
} as const satisfies Record<string, readonly string[]>;

/**
 * Returns the query of a session with its user, its active organization and the user's
 * membership in it. Throws `ConfigurationError` if the tables of the organization plugin are missing.
 */
export const getOrganizationQuery: (db: AuthDatabase, settings: AuthSettings) => SessionQuery =
  /* @__PURE__ */ cacheByClient(writeQuery);

/**
 * Returns the active organization of a session.
 *
 * @param row The result of {@link getOrganizationQuery}.
 * @param rule The membership that the handler requires.
 * @returns The organization and the user's role.
 * @throws {ForbiddenError} If there is none, or the user is not a member with a required role.
 */
export function findOrganization(
  { joined }: SessionRow,
  { role }: OrganizationRule,
): ActiveOrganization {
  if (typeof joined?.id !== "string" || typeof joined.memberId !== "string") {
    throw new ForbiddenError("The session has no active organization that the user belongs to");
  }
  const organization = joined as typeof joined & ActiveOrganization;
  if (role === undefined || hasRole(organization.role, [role].flat())) return organization;
  throw new ForbiddenError("The user has none of the required roles in the organization");
}

/** Checks a list of roles as better-auth stores it, separated by commas. */
export function hasRole(stored: unknown, roles: readonly string[]): boolean {
  return typeof stored === "string" && stored.split(",").some((role) => roles.includes(role));
}

function writeQuery(db: AuthDatabase, settings: AuthSettings): SessionQuery {
  const { user, session: sessions } = getSessionTables(settings.schema);
  const session = getTable(sessions, "session");
  const { id, name, slug } = getTable(settings.schema.organization, "organization");
  const member = getTable(settings.schema.member, "member");
  const isMember = sql`(${equalsSql(db, member.organizationId, id)} and ${
    equalsSql(db, member.userId, user.id)
  })`;
  return writeSessionQuery(db, settings, {
    columns: { id, name, slug, memberId: member.id, role: member.role },
    tables: [
      {
        table: settings.schema.organization as object,
        on: equalsSql(db, id, session.activeOrganizationId),
      },
      { table: member, on: isMember },
    ],
  });
}

function getTable<Model extends keyof typeof NEEDED>(
  table: unknown,
  model: Model,
): ModelTable<typeof NEEDED[Model][number]> {
  const columns = isTable(table) ? listColumns(table) : {};
  const missing = NEEDED[model].filter((name) => !Object.hasOwn(columns, name));
  if (missing.length > 0) {
    throw new ConfigurationError(
      `A handler has the option organization, but AuthConfig.schema.${model} lacks ` +
        `${missing.join(", ")}: declare the tables of better-auth's organization plugin ` +
        "in drizzle and pass them under these keys",
    );
  }
  return table as ModelTable<typeof NEEDED[Model][number]>;
}
