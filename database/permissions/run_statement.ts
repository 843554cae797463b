import { sanitizeForDistSql } from "../../distsql/engine.ts";
import { hasSqlState } from "../../errors/driver_error.ts";
import { writeName } from "../../sql/sql_name.ts";
import type { SqlSession } from "../../sql/session.ts";
import { withDistSqlRetry } from "../session/retry.ts";
import type { DeclaredGrant } from "./declared_grants.ts";
import { type Grant, grantKey, iamKey, type LiveGrants, readGrantKey } from "./live_grants.ts";
import type { PermissionStatement } from "./permission_statement.ts";

/** The database that statements run on. */
export interface PermissionTarget {
  /** Session of an admin. */
  readonly session: SqlSession;
  /** The permissions that it had before. */
  readonly live: LiveGrants;
  readonly isDistSql: boolean;
}

/** SQLSTATEs of objects that exist already, including a race on the unique index of roles. */
const PRESENT: readonly string[] = ["42710", "23505"];
/** SQLSTATEs of objects to remove that do not exist. */
const ABSENT: readonly string[] = ["42704", "42P01", "3F000"];

/**
 * Runs what a statement still has to change.
 *
 * @param target The database.
 * @param statement The statement.
 * @param differences The grants that it declares and the database lacks, or the reverse.
 * @returns True if something changed.
 */
export async function runStatement(
  target: PermissionTarget,
  { action, sql }: PermissionStatement,
  differences: readonly [string, DeclaredGrant][],
): Promise<boolean> {
  const { roles, iam } = target.live;
  switch (action.kind) {
    case "create_role": {
      const canLogin = roles.get(action.role);
      if (canLogin === undefined) return await send(target, [sql], PRESENT);
      if (canLogin || !action.canLogin) return false;
      return await send(target, [`ALTER ROLE ${writeName(action.role, true)} WITH LOGIN`], []);
    }
    case "iam_grant":
    case "iam_revoke": {
      const isGrant = action.kind === "iam_grant";
      if (iam === undefined || iam.has(iamKey(action.role, action.arn)) === isGrant) return false;
      return await send(target, [sql], isGrant ? PRESENT : ABSENT);
    }
    case "grant":
    case "revoke":
      return await send(target, writeGrants(differences), action.kind === "grant" ? [] : ABSENT);
    case "other":
      if (/^drop\b/i.test(sql)) return await send(target, [sql], ABSENT);
      return await send(target, [sql], /^create\b/i.test(sql) ? PRESENT : []);
  }
}

/** Runs each statement in a separate transaction, and ignores errors with the given SQLSTATEs. */
async function send(
  { session, isDistSql }: PermissionTarget,
  statements: readonly string[],
  ignored: readonly string[],
): Promise<boolean> {
  let didSomething = false;
  for (const text of statements) {
    const sql = isDistSql ? sanitizeForDistSql(text) : text;
    if (sql === null) continue;
    try {
      await withDistSqlRetry(() => session.query(sql), { maxRetries: 8 });
      didSomething = true;
    } catch (error) {
      if (!hasSqlState(error, ignored)) throw error;
    }
  }
  return didSomething;
}

/** Writes one statement per object and role. */
function writeGrants(differences: readonly [string, DeclaredGrant][]): string[] {
  const groups = new Map<string, { first: Grant; declared: DeclaredGrant; privileges: string[] }>();
  for (const [key, declared] of differences) {
    const grant = readGrantKey(key);
    const id = grantKey({ ...grant, privilege: String(declared.grantable), column: undefined });
    const group = groups.get(id) ?? { first: grant, declared, privileges: [] };
    const column = grant.column === undefined ? "" : ` (${writeName(grant.column, true)})`;
    group.privileges.push(`${grant.privilege}${column}`);
    groups.set(id, group);
  }
  return [...groups.values()].map(
    ({ first: { type, schema, name, role }, declared, privileges }) => {
      const object = type === "schema"
        ? writeName(name, true)
        : `${writeName(schema, true)}.${writeName(name, true)}`;
      const what = `${privileges.join(", ")} ON ${type.toUpperCase()} ${object}`;
      const who = role === null ? "PUBLIC" : writeName(role, true);
      if (!declared.isGranted) return `REVOKE ${what} FROM ${who}`;
      return `GRANT ${what} TO ${who}${declared.grantable ? " WITH GRANT OPTION" : ""}`;
    },
  );
}
