import { environment } from "../../env/get_env.ts";
import { isAppError } from "../../errors/app_error.ts";
import { causeChain, findInCauseChain } from "../../errors/cause_chain.ts";
import { getSqlState, readDriverError } from "../../errors/driver_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { DatabaseConfig } from "../config.ts";
import { sanitizeForDistSql } from "../distsql/sanitize.ts";
import { writeName } from "../distsql/sql_name.ts";
import type { SqlSession } from "../providers/provider.ts";
import { withDistSqlRetry } from "../retry.ts";
import { type DeclaredGrant, type DeclaredGrants, declareGrants } from "./declared_grants.ts";
import { readPermissionFiles } from "./files.ts";
import {
  type Grant,
  grantKey,
  iamKey,
  type LiveGrants,
  readGrantKey,
  readLiveGrants,
} from "./live_grants.ts";
import type { PermissionStatement } from "./permission_statement.ts";
import { findRolesWithoutIam, grantRdsIam } from "./rds_iam.ts";
import type { PermissionVariables } from "./substitute.ts";
import { withSession } from "../sql/with_session.ts";

/** Options of {@link applyPermissions}. */
export interface PermissionsConfig {
  /** The folder of the `.sql` files. */
  permissionsFolder: string;
  /**
   * The database. On `distsql` the connection uses the admin role, even if another role is
   * configured.
   */
  database: DatabaseConfig;
  /** Called with each progress message, one line each. */
  logger?: (msg: string) => void;
  /**
   * Source of the values for `${NAME}`.
   * @default process.env
   */
  env?: PermissionVariables;
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
  return await withSession(asAdmin(database), async (session) => {
    const isDistSql = database.provider === "distsql";
    const result = await applyStatements(session, statements, isDistSql, logger);
    return database.iamAuth ? await allowIamTokens(session, statements, result, logger) : result;
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
function asAdmin(database: DatabaseConfig): DatabaseConfig {
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
      const didSomething = await new StatementRun(session, statement, live, isDistSql).run(
        missing.get(statement) ?? [],
      );
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
  const byStatement = new Map<PermissionStatement, [string, DeclaredGrant][]>();
  for (const [key, grant] of declared.grants) {
    if (!differs(live.grants.get(key), grant) && !isTakenBefore(key, grant, declared, live)) {
      continue;
    }
    const own = byStatement.get(grant.statement) ?? [];
    own.push([key, grant]);
    byStatement.set(grant.statement, own);
  }
  return byStatement;
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

/**
 * Checks whether the database differs from a declared grant. An additional privilege counts only if
 * the files revoke it.
 */
export function differs(
  present: boolean | undefined,
  { isGranted, grantable }: DeclaredGrant,
): boolean {
  return isGranted ? present === undefined || (grantable && !present) : present !== undefined;
}

/** SQLSTATEs of objects that exist already, including a race on the unique index of roles. */
const PRESENT: readonly string[] = ["42710", "23505"];
/** SQLSTATEs of objects to remove that do not exist. */
const ABSENT: readonly string[] = ["42704", "42P01", "3F000"];

class StatementRun {
  readonly #session: SqlSession;
  readonly #statement: PermissionStatement;
  readonly #live: LiveGrants;
  readonly #isDistSql: boolean;

  constructor(
    session: SqlSession,
    statement: PermissionStatement,
    live: LiveGrants,
    isDistSql: boolean,
  ) {
    this.#session = session;
    this.#statement = statement;
    this.#live = live;
    this.#isDistSql = isDistSql;
  }

  /**
   * @returns True if something changed.
   */
  async run(differences: readonly [string, DeclaredGrant][]): Promise<boolean> {
    const { action, sql } = this.#statement;
    switch (action.kind) {
      case "create_role": {
        const canLogin = this.#live.roles.get(action.role);
        if (canLogin === undefined) return await this.#send([sql], PRESENT);
        if (canLogin || !action.canLogin) return false;
        return await this.#send([`ALTER ROLE ${writeName(action.role, true)} WITH LOGIN`], []);
      }
      case "iam_grant":
      case "iam_revoke": {
        const { iam } = this.#live;
        const isGrant = action.kind === "iam_grant";
        if (iam === undefined || iam.has(iamKey(action.role, action.arn)) === isGrant) return false;
        return await this.#send([sql], isGrant ? PRESENT : ABSENT);
      }
      case "grant":
      case "revoke":
        return await this.#send(writeGrants(differences), action.kind === "grant" ? [] : ABSENT);
      case "other":
        if (/^drop\b/i.test(sql)) return await this.#send([sql], ABSENT);
        return await this.#send([sql], /^create\b/i.test(sql) ? PRESENT : []);
    }
  }

  /** Runs each statement in a separate transaction. */
  async #send(statements: readonly string[], passedOver: readonly string[]): Promise<boolean> {
    let didSomething = false;
    for (const text of statements) {
      const sql = this.#isDistSql ? sanitizeForDistSql(text) : text;
      if (sql === null) continue;
      try {
        await withDistSqlRetry(() => this.#session.query(sql), { maxRetries: 8 });
        didSomething = true;
      } catch (error) {
        if (!causeChain(error).some((link) => passedOver.includes(getSqlState(link) ?? ""))) {
          throw error;
        }
      }
    }
    return didSomething;
  }
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

/** Returns the reason of a failure, without values. */
function getReason(error: unknown): string {
  const link = findInCauseChain(error, (candidate) => getSqlState(candidate) !== undefined);
  const driver = readDriverError(link, { showIdentifiers: true });
  if (driver !== undefined) return `SQLSTATE ${driver.sqlState}: ${driver.message}`;
  return isAppError(error) ? error.message : "the connection failed";
}
