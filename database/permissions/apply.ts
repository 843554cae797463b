import { groupBy } from "../../core/lists/group_by.ts";
import { environment } from "../../env/get_env.ts";
import { isAppError } from "../../errors/app_error.ts";
import { describeDriverError } from "../../errors/driver_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { DatabaseSettings } from "../config/config.ts";
import type { SqlSession } from "../../sql/session.ts";
import { withDistSqlRetry } from "../session/retry.ts";
import { withSession } from "../providers/client.ts";
import {
  type DeclaredGrant,
  type DeclaredGrants,
  declareGrants,
  differs,
} from "./declared_grants.ts";
import { readPermissionFiles } from "./files.ts";
import { grantKey, type LiveGrants, readGrantKey, readLiveGrants } from "./live_grants.ts";
import type { PermissionStatement } from "./permission_statement.ts";
import { findRolesWithoutIam, grantRdsIam } from "./rds_iam.ts";
import { runStatement } from "./run_statement.ts";
import type { ValidatePermissionsConfig } from "./validate.ts";

/** Options of {@link applyPermissions}. On `distsql` the connection uses the admin role, even if another is configured. */
export interface PermissionsConfig extends ValidatePermissionsConfig {
  /**
   * Also run statements other than GRANT, REVOKE and those about roles, as the admin. Otherwise a
   * file that contains one is rejected before anything is applied.
   * @default false
   */
  allowOtherStatements?: boolean;
}

/** Result of {@link applyPermissions}. */
export interface PermissionsResult {
  /** Number of statements that changed something. */
  applied: number;
  /** Number of statements without effect, and of IAM mappings on servers without IAM. */
  skipped: number;
  /** Failed statements, one line each: file, line, SQLSTATE. The other statements were applied. */
  errors: string[];
}

/**
 * Grants the permissions that the files declare. Can run at every deployment: it compares with the
 * existing grants and sends only the differences, because on the distributed provider each GRANT
 * affects every open session. A file that revokes all privileges and grants some of them again
 * revokes none of those.
 *
 * Permissions that the files do not mention are kept; `validatePermissions` lists them.
 *
 * @param config Folder, database and variables.
 * @returns The numbers of applied and skipped statements, and the failed ones: check `errors`.
 * @throws {ConfigurationError} Before anything is run: if a file cannot be read, variables are
 * missing or invalid, or a statement is not GRANT, REVOKE or about a role.
 *
 * @example
 * ```ts
 * import { applyPermissions, closeDrizzleClient } from "@trellis/fn/database";
 * import { mkdtempSync, writeFileSync } from "node:fs";
 *
 * const permissionsFolder = mkdtempSync("/tmp/permissions-");
 * writeFileSync(`${permissionsFolder}/permissions.sql`, 'CREATE ROLE "${PREFIX}-Reader" WITH LOGIN;');
 * const database = { provider: "embedded-pg" } as const;
 * const result = await applyPermissions({ permissionsFolder, database, env: { PREFIX: "dev" } });
 * console.log(result); // { applied: 1, skipped: 0, errors: [] }
 * await closeDrizzleClient();
 * ```
 */
export async function applyPermissions(config: PermissionsConfig): Promise<PermissionsResult> {
  const {
    permissionsFolder,
    database,
    env = environment(),
    logger = () => {},
    allowOtherStatements,
  } = config;
  const statements = readPermissionFiles(permissionsFolder, env);
  if (!allowOtherStatements) assertPermissionStatements(statements);
  const settings = asAdmin(database);
  return await withSession(settings, async (session) => {
    const isDistSql = settings.provider === "distsql";
    const result = await applyStatements(session, statements, isDistSql, logger);
    return settings.iamAuth ? await allowIamTokens(session, statements, result, logger) : result;
  });
}

/** Lets the mapped roles sign in to RDS, where the mappings themselves have no effect. */
async function allowIamTokens(
  session: SqlSession,
  statements: readonly PermissionStatement[],
  { applied, skipped, errors }: PermissionsResult,
  logger: (message: string) => void,
): Promise<PermissionsResult> {
  const result = { applied, skipped, errors: [...errors] };
  for (const { role, statement } of await findRolesWithoutIam(session, statements)) {
    const { file, line } = statement.source;
    try {
      await grantRdsIam(session, role);
      logger(`${file}:${line}: GRANT rds_iam TO ${role}`);
      result.applied++;
      result.skipped--;
    } catch (error) {
      const message = `${file}:${line}: GRANT rds_iam TO ${role} failed: ${getReason(error)}`;
      logger(message);
      result.errors.push(message);
    }
  }
  return result;
}

/**
 * Throws ConfigurationError if a statement would change anything other than privileges and roles.
 */
function assertPermissionStatements(statements: readonly PermissionStatement[]): void {
  const others = statements.filter(({ isPermission }) => !isPermission);
  if (others.length === 0) return;
  const places = others.map(({ source, title }) =>
    `${source.file}:${source.line} (${title || "a statement"})`
  );
  throw new ConfigurationError(
    "Permission files may only contain GRANT, REVOKE and statements about roles. Move these " +
      `statements to a migration, or set allowOtherStatements: ${places.join(", ")}`,
  );
}

/** Returns the configuration with the admin's token. */
function asAdmin(database: DatabaseSettings): DatabaseSettings {
  if (database.provider !== "distsql") return database;
  const { username: _username, ...cluster } = database;
  return { ...cluster, isAdmin: true };
}

/**
 * Applies statements in a session; for {@link applyPermissions}.
 *
 * @param session Session of an admin.
 * @param statements The statements, in order.
 * @param isDistSql True for the distributed provider.
 * @param logger Called with each progress message.
 */
export async function applyStatements(
  session: SqlSession,
  statements: readonly PermissionStatement[],
  isDistSql: boolean,
  logger: (message: string) => void,
): Promise<PermissionsResult> {
  const live = await withDistSqlRetry(() => readLiveGrants(session), { maxRetries: 8 });
  const declared = declareGrants(statements, live, isDistSql);
  const missing = groupByStatement(declared, live);
  const result: PermissionsResult = { applied: 0, skipped: 0, errors: [] };
  for (const statement of statements) {
    const { file, line } = statement.source;
    try {
      const differences = missing.get(statement) ?? [];
      const didSomething = await runStatement({ session, live, isDistSql }, statement, differences);
      const wide = isDistSql && statement.isWholeTableOnDistSql
        ? " on whole tables instead of columns"
        : "";
      if (didSomething) logger(`${file}:${line}: ${statement.title}${wide}`);
      result[didSomething ? "applied" : "skipped"]++;
    } catch (error) {
      const message = `${file}:${line}: ${statement.title} failed: ${getReason(error)}`;
      logger(message);
      result.errors.push(message);
    }
  }
  logger(
    `${result.applied} statements applied, ` +
      `${result.skipped} skipped, ${result.errors.length} failed`,
  );
  return result;
}

/** Groups the differences by the statement that declares them. */
function groupByStatement(
  declared: DeclaredGrants,
  live: LiveGrants,
): Map<PermissionStatement, [string, DeclaredGrant][]> {
  const missing = [...declared.grants].filter(([key, grant]) =>
    differs(live.grants.get(key), grant) || isTakenBefore(key, grant, declared, live)
  );
  return groupBy(missing, ([, grant]) => grant.statement);
}

/**
 * Checks whether revoking a table privilege also revokes an existing column privilege, which must
 * then be granted again.
 */
function isTakenBefore(
  key: string,
  grant: DeclaredGrant,
  declared: DeclaredGrants,
  live: LiveGrants,
): boolean {
  const { column, ...rest } = readGrantKey(key);
  if (column === undefined || !grant.isGranted) return false;
  const whole = grantKey({ ...rest, column: undefined });
  return live.grants.has(whole) && declared.grants.get(whole)?.isGranted === false;
}

/** Returns the reason of a failure, without values. */
export function getReason(error: unknown): string {
  return describeDriverError(error) ??
    (isAppError(error) ? error.message : "the connection failed");
}
