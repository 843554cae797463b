import { environment } from "../../env/get_env.ts";
import type { DatabaseConfig, DatabaseSettings } from "../config/config.ts";
import type { SqlSession } from "../../sql/session.ts";
import { withDistSqlRetry } from "../session/retry.ts";
import { type DeclaredGrants, declareGrants, differs } from "./declared_grants.ts";
import { readPermissionFiles } from "./files.ts";
import {
  type Grant,
  type LiveGrants,
  objectKey,
  readGrantKey,
  readLiveGrants,
} from "./live_grants.ts";
import type { PermissionObjectType, PermissionStatement } from "./permission_statement.ts";
import type { PermissionVariables } from "./substitute.ts";
import { findRolesWithoutIam } from "./rds_iam.ts";
import { withSession } from "../providers/client.ts";

/** Options of {@link validatePermissions}. */
export interface ValidatePermissionsConfig {
  /** The folder of the `.sql` files. */
  permissionsFolder: string;
  /** The database. To validate, any role that can log in is enough. */
  database: DatabaseConfig;
  /** Called with each difference or progress message, one line each. */
  logger?: (msg: string) => void;
  /**
   * Source of the values for `${NAME}`.
   * @default process.env
   */
  env?: PermissionVariables;
}

/** Permission that is declared but missing in the database, or the reverse. */
export interface PermissionGap {
  /** Kind: a role, its LOGIN attribute, a privilege, or an IAM mapping. */
  kind: "role" | "login" | "grant" | "iam";
  /** Role; `PUBLIC` for all roles. */
  role: string;
  /** `grant`: the privilege, such as `SELECT`. */
  privilege?: string;
  /** `grant`: type of the object. */
  objectType?: PermissionObjectType;
  /** `grant`: object with its schema, such as `public.notes`. */
  object?: string;
  /** `grant`: column, for a column privilege. */
  column?: string;
  /** `iam`: the principal. */
  arn?: string;
  /** Statement that declares or revokes it, such as `permissions.sql:12`. */
  source?: string;
  /** Description in one sentence. */
  message: string;
}

/** Result of {@link validatePermissions}. */
export interface ValidatePermissionsResult {
  /** True if nothing is missing; a surplus does no harm. */
  valid: boolean;
  /** Declared permissions that the database lacks. */
  gaps: PermissionGap[];
  /** Permissions of the files' roles that no file declares, or that a file revokes. */
  surpluses: PermissionGap[];
  /** Statements that are not compared, such as `permissions.sql:3: ALTER DEFAULT`. */
  unchecked: string[];
}

/**
 * Compares the permission files with the grants of a database: roles, privileges on tables,
 * columns, sequences and schemas, and IAM mappings. Only reads catalogs and never changes anything.
 *
 * @param config Folder, database and variables.
 * @returns Gaps and surpluses.
 * @throws {ConfigurationError} If a file cannot be read, or variables are missing or invalid.
 *
 * @example
 * ```ts
 * import { closeDrizzleClient, validatePermissions } from "@trellis/fn/database";
 * import { mkdtempSync, writeFileSync } from "node:fs";
 *
 * const permissionsFolder = mkdtempSync("/tmp/permissions-");
 * writeFileSync(`${permissionsFolder}/permissions.sql`, 'CREATE ROLE "writer" WITH LOGIN;');
 * const { gaps } = await validatePermissions({ permissionsFolder, database: { provider: "embedded-pg" } });
 * console.log(gaps[0].message); // role writer is missing
 * await closeDrizzleClient();
 * ```
 */
export async function validatePermissions(
  config: ValidatePermissionsConfig,
): Promise<ValidatePermissionsResult> {
  const { permissionsFolder, env = environment(), logger = () => {} } = config;
  const statements = readPermissionFiles(permissionsFolder, env);
  const database: DatabaseSettings = config.database;
  return await withSession(database, async (session) => {
    const isDistSql = database.provider === "distsql";
    const result = await compareStatements(session, statements, isDistSql, logger);
    return database.iamAuth ? await addIamGaps(session, statements, result, logger) : result;
  });
}

/** Adds the roles that cannot sign in to RDS with IAM tokens. */
async function addIamGaps(
  session: SqlSession,
  statements: readonly PermissionStatement[],
  result: ValidatePermissionsResult,
  logger: (message: string) => void,
): Promise<ValidatePermissionsResult> {
  const missing = (await findRolesWithoutIam(session, statements)).map((
    { role, arn, statement },
  ): PermissionGap => ({
    kind: "iam",
    role,
    arn,
    source: getSource(statement),
    message: `rds_iam to ${role}`,
  }));
  for (const { message } of missing) logger(`missing: ${message}`);
  const gaps = [...result.gaps, ...missing];
  return { ...result, valid: gaps.length === 0, gaps };
}

/**
 * Compares statements with a database; for {@link validatePermissions}.
 *
 * @param session Session to read with.
 * @param statements The statements, in order.
 * @param isDistSql True for the distributed provider.
 * @param logger Called with each difference.
 */
export async function compareStatements(
  session: SqlSession,
  statements: readonly PermissionStatement[],
  isDistSql: boolean,
  logger: (message: string) => void,
): Promise<ValidatePermissionsResult> {
  const live = await withDistSqlRetry(() => readLiveGrants(session), { maxRetries: 8 });
  const declared = declareGrants(statements, live, isDistSql);
  const gaps = findGaps(declared, live);
  const surpluses = findSurpluses(declared, live);
  const unchecked = statements.filter(({ action }) => action.kind === "other").map((one) =>
    `${getSource(one)}: ${one.title}`
  );
  for (const { message } of gaps) logger(`missing: ${message}`);
  for (const { message } of surpluses) logger(`not declared: ${message}`);
  return { valid: gaps.length === 0, gaps, surpluses, unchecked };
}

function getSource({ source: { file, line } }: PermissionStatement): string {
  return `${file}:${line}`;
}

function findGaps(declared: DeclaredGrants, live: LiveGrants): PermissionGap[] {
  const gaps: PermissionGap[] = [];
  for (const [role, { statement, canLogin }] of declared.roles) {
    const source = getSource(statement);
    const present = live.roles.get(role);
    if (present === undefined) {
      gaps.push({ kind: "role", role, source, message: `role ${role} is missing` });
    } else if (canLogin && !present) {
      gaps.push({ kind: "login", role, source, message: `role ${role} cannot log in` });
    }
  }
  for (const [key, grant] of declared.grants) {
    if (grant.isGranted && differs(live.grants.get(key), grant)) {
      gaps.push(toGap(readGrantKey(key), live, getSource(grant.statement), grant.grantable));
    }
  }
  if (live.iam === undefined) return gaps;
  for (const [key, { statement, isGranted }] of declared.iam) {
    if (isGranted && !live.iam.has(key)) gaps.push(toIamGap(key, getSource(statement)));
  }
  return gaps;
}

function findSurpluses(declared: DeclaredGrants, live: LiveGrants): PermissionGap[] {
  const surpluses: PermissionGap[] = [];
  for (const key of live.grants.keys()) {
    const known = declared.grants.get(key);
    const grant = readGrantKey(key);
    const isManaged = grant.role !== null && declared.managed.has(grant.role);
    const isOwner = live.owners.get(objectKey(grant.type, grant.schema, grant.name)) === grant.role;
    if (known === undefined ? isManaged && !isOwner : !known.isGranted) {
      surpluses.push(
        toGap(grant, live, known === undefined ? undefined : getSource(known.statement), false),
      );
    }
  }
  for (const key of live.iam ?? []) {
    const known = declared.iam.get(key);
    const [role] = JSON.parse(key) as [string, string];
    if (known === undefined ? declared.managed.has(role) : !known.isGranted) {
      surpluses.push(toIamGap(key, known === undefined ? undefined : getSource(known.statement)));
    }
  }
  return surpluses;
}

function toGap(
  grant: Grant,
  live: LiveGrants,
  source: string | undefined,
  grantable: boolean,
): PermissionGap {
  const { type, schema, name, column, privilege } = grant;
  const role = grant.role ?? "PUBLIC";
  const object = type === "schema" ? name : `${schema}.${name}`;
  const isThere = live.owners.has(objectKey(type, schema, name));
  const message =
    `${privilege}${column === undefined ? "" : ` (${column})`} on ${type} ${object} to ${role}` +
    `${grantable ? " with grant option" : ""}${isThere ? "" : ` (there is no such ${type})`}`;
  return {
    kind: "grant",
    role,
    privilege,
    objectType: type,
    object,
    ...column === undefined ? {} : { column },
    ...source === undefined ? {} : { source },
    message,
  };
}

function toIamGap(key: string, source: string | undefined): PermissionGap {
  const [role, arn] = JSON.parse(key) as [string, string];
  return {
    kind: "iam",
    role,
    arn,
    ...source === undefined ? {} : { source },
    message: `IAM principal ${arn} as role ${role}`,
  };
}
