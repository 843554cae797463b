import { writeName } from "../../sql/sql_name.ts";
import type { SqlSession } from "../../sql/session.ts";
import { retryIdempotent } from "../../sql/retry_idempotent.ts";
import type { PermissionStatement } from "./permission_statement.ts";

/** A role that a file maps to an IAM principal, and the statement. */
export interface MappedRole {
  readonly role: string;
  readonly arn: string;
  readonly statement: PermissionStatement;
}

/** Roles with the attribute that lets them sign in to RDS with an IAM token. */
const MEMBERS = "SELECT m.rolname::text AS role FROM pg_auth_members a " +
  "JOIN pg_roles m ON m.oid = a.member JOIN pg_roles g ON g.oid = a.roleid " +
  "WHERE g.rolname = 'rds_iam'";

/**
 * Finds roles that the files map to IAM principals, but that cannot sign in to RDS with IAM tokens.
 * Which principal may sign in as a role is decided by IAM alone.
 *
 * @param session Session to read with.
 * @param statements The statements of the files.
 */
export async function findRolesWithoutIam(
  session: SqlSession,
  statements: readonly PermissionStatement[],
): Promise<MappedRole[]> {
  const members = new Set((await session.query(MEMBERS)).map(({ role }) => String(role)));
  return statements.flatMap((statement): MappedRole[] => {
    const { action } = statement;
    if (action.kind !== "iam_grant" || members.has(action.role)) return [];
    return [{ role: action.role, arn: action.arn, statement }];
  });
}

/**
 * Lets a role sign in to RDS with IAM tokens. It can then no longer sign in with a password.
 *
 * @param session Session of an admin.
 * @param role The role.
 */
export async function grantRdsIam(session: SqlSession, role: string): Promise<void> {
  await retryIdempotent(() => session.query(`GRANT rds_iam TO ${writeName(role, true)}`));
}
