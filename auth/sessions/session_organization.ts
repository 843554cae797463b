import type { ActiveOrganization, OrganizationRule } from "../../core/http/session.ts";
import { listColumns } from "../../database/session/column_sql.ts";
import { isTable } from "../../database/session/drizzle_table.ts";
import { ConfigurationError, ForbiddenError } from "../../errors/http_errors.ts";
import type { AuthDatabase } from "../better_auth/better_auth_types.ts";
import type { AuthSettings } from "../config/config.ts";
import {
  cacheByClient,
  type OrganizationTables,
  type SessionQuery,
  type SessionRow,
  writeOrganizationQuery,
} from "./session_statements.ts";
import { getSessionTables } from "../config/session_tables.ts";

/** The columns of better-auth's organization plugin that a check reads. */
const NEEDED = {
  session: ["activeOrganizationId"],
  organization: ["id", "name", "slug"],
  member: ["id", "organizationId", "userId", "role"],
} as const satisfies Record<string, readonly string[]>;

/**
 * Returns the query of a session with its user, its active organization and the user's
 * membership in it.
 *
 * @param db The client.
 * @param settings The configuration.
 * @returns The query.
 * @throws {ConfigurationError} If the tables of the organization plugin are missing.
 */
export function getOrganizationQuery(db: AuthDatabase, settings: AuthSettings): SessionQuery {
  return getQuery(db, settings);
}

const getQuery = /* @__PURE__ */ cacheByClient(writeQuery);

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
  const schema = { ...settings.schema, ...getSessionTables(settings.schema) };
  return writeOrganizationQuery(db, settings, {
    session: getTable(schema, "session"),
    organization: getTable(schema, "organization"),
    member: getTable(schema, "member"),
  });
}

function getTable<Model extends keyof typeof NEEDED>(
  schema: AuthSettings["schema"],
  model: Model,
): OrganizationTables[Model] {
  const table: unknown = schema[model];
  const columns = isTable(table) ? listColumns(table) : {};
  const missing = NEEDED[model].filter((name) => !Object.hasOwn(columns, name));
  if (missing.length > 0) {
    throw new ConfigurationError(
      `A handler has the option organization, but AuthConfig.schema.${model} lacks ` +
        `${missing.join(", ")}: declare the tables of better-auth's organization plugin ` +
        "in drizzle and pass them under these keys",
    );
  }
  return table as OrganizationTables[Model];
}
