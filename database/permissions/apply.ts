import { environment } from "../../env/get_env.ts";
import { isAppError } from "../../errors/app_error.ts";
import { causeChain, findInCauseChain } from "../../errors/cause_chain.ts";
import { getSqlState, readDriverError } from "../../errors/driver_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import type { DatabaseConfig } from "../config.ts";
import { sanitizeForDistSql } from "../distsql/sanitize.ts";
import { writeName } from "../distsql/sql_name.ts";
import { withSession } from "../migrations/run.ts";
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
import type { PermissionVariables } from "./substitute.ts";

/** Options of {@link applyPermissions}. */
export interface PermissionsConfig {
  /** The folder of the `.sql` files. */
  permissionsFolder: string;
  /** The database; on `distsql` the connection is the admin's, whatever role it names. */
  database: DatabaseConfig;
  /** Told what happens, one line each. */
  logger?: (msg: string) => void;
  /**
   * Where `${NAME}` takes its value from.
   * @default process.env
   */
  env?: PermissionVariables;
  /**
   * Runs statements that are neither GRANT nor REVOKE nor about a role, as the admin. Without it, a
   * file that has one is refused before anything is applied.
   * @default false
   */
  allowOtherStatements?: boolean;
}

/** What {@link applyPermissions} did. */
export interface PermissionsResult {
  /** Statements that changed something. */
  applied: number;
  /** Statements with nothing left to do, and IAM mappings where there is no IAM. */
  skipped: number;
  /** What failed, one line each: file, line, SQLSTATE. The other statements were applied. */
  errors: string[];
}

/**
 * Makes a database grant what permission files declare. It may be run at every deployment: what is granted is compared
 * first, and only what differs is sent, since on the distributed provider each GRANT disturbs every open session. A file
 * that takes all privileges and gives some of them again takes none of those.
 *
 * What the files do not mention stays; `validatePermissions` tells it.
 *
 * @param config Folder, database and variables.
 * @returns What was applied, what needed nothing, and what failed: look at `errors`.
 * @throws {ConfigurationError} Before anything is run: when a file cannot be read, variables are missing or do not fit,
 * or a statement is neither GRANT nor REVOKE nor about a role.
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
  return await withSession(asAdmin(database), (session) => {
    return applyStatements(session, statements, database.provider === "distsql", logger);
  });
}

/** Throws ConfigurationError when a statement would change something else than privileges and roles. */
function assertPermissionStatements(statements: readonly PermissionStatement[]): void {
  const others = statements.filter(({ isPermission }) => !isPermission);
  if (others.length === 0) return;
  const places = others.map(({ source, title }) =>
    `${source.file}:${source.line} (${title || "a statement"})`
  );
  throw new ConfigurationError(
    "Permission files may hold GRANT, REVOKE and statements about roles. Move these to a migration, or set " +
      `allowOtherStatements: ${places.join(", ")}`,
  );
}

/** The same database with the admin's token. */
function asAdmin({ username: _username, ...database }: DatabaseConfig): DatabaseConfig {
  return database.provider === "distsql" ? { ...database, isAdmin: true } : database;
}

/**
 * Applies statements on a session; for {@link applyPermissions}.
 *
 * @param session An admin's session.
 * @param statements The statements, in order.
 * @param isDistSql Whether the provider is the distributed one.
 * @param logger Told what happens.
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
    `${result.applied} statements applied, ${result.skipped} skipped, ${result.errors.length} failed`,
  );
  return result;
}

/** What differs from the database, with the statement that wants it. */
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

/** Whether a column's privilege that is there goes when the whole table's is revoked, and must be granted again. */
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

/** Whether the database grants something else than what is declared; more than is declared counts when it is revoked. */
export function differs(
  present: boolean | undefined,
  { isGranted, grantable }: DeclaredGrant,
): boolean {
  return isGranted ? present === undefined || (grantable && !present) : present !== undefined;
}

/** SQLSTATEs that say that there is nothing to do: objects that exist, and the unique index of roles when two race. */
const PRESENT: readonly string[] = ["42710", "23505"];
/** What is to be taken away is not there. */
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

  /** @returns Whether something was changed. */
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
        return await this.#send(
          [sql],
          /^drop\b/i.test(sql) ? ABSENT : /^create\b/i.test(sql) ? PRESENT : [],
        );
    }
  }

  /** Each statement is a transaction of its own. */
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

/** One statement for each object and role. */
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

/** Why a statement failed, without values. */
function getReason(error: unknown): string {
  const link = findInCauseChain(error, (candidate) => getSqlState(candidate) !== undefined);
  const driver = readDriverError(link, { showIdentifiers: true });
  if (driver !== undefined) return `SQLSTATE ${driver.sqlState}: ${driver.message}`;
  return isAppError(error) ? error.message : "the connection failed";
}
