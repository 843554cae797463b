import { hasSqlState } from "../../errors/driver_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { quoteLiteral } from "../../sql/quote.ts";
import type { SqlSession } from "../../sql/session.ts";
import { writeName } from "../../sql/sql_name.ts";
import { withSession } from "../providers/client.ts";
import { getReason } from "./apply.ts";
import { declareGrants } from "./declared_grants.ts";
import { readPermissionFiles } from "./files.ts";
import { type Grant, readGrantKey, readLiveGrants } from "./live_grants.ts";
import type { ValidatePermissionsConfig } from "./validate.ts";

/** A role that only one function signs in with. It has the grants of the function's role. */
export interface FunctionLogin {
  /** `notes-dev_notes_get_a` */
  readonly name: string;
  /** The role of the permission files: `fn_notes_get`. */
  readonly role: string;
  /** The password, or its SCRAM verifier. */
  readonly password: string;
}

/** SQLSTATEs of a role that exists, including a race on the unique index of roles. */
const PRESENT: readonly string[] = ["42710", "23505"];

/**
 * Creates logins of functions, or gives them other passwords, and checks the privileges that they
 * then have.
 *
 * @param config Folder, variables, and the database with a role that may create roles.
 * @param logins The logins.
 * @returns One text for each privilege that a login lacks.
 * @throws {ConfigurationError} If a login cannot be created or changed. Shows no password.
 */
export async function putLogins(
  config: Pick<ValidatePermissionsConfig, "permissionsFolder" | "database" | "env">,
  logins: readonly FunctionLogin[],
): Promise<string[]> {
  return await withSession(config.database, async (session) => {
    for (const login of logins) await putLogin(session, login);
    const declared = await readDeclaredGrants(session, config);
    const missing: string[] = [];
    for (const { name, role } of logins) {
      const own = declared.filter((grant) => grant.role === role);
      missing.push(...await findMissingPrivileges(session, name, own));
    }
    return missing;
  });
}

async function putLogin(
  session: SqlSession,
  { name, role, password }: FunctionLogin,
): Promise<void> {
  const login = writeName(name, true);
  const attributes = `WITH LOGIN PASSWORD ${quoteLiteral(password)}`;
  try {
    await session.query(`CREATE ROLE ${login} ${attributes}`).catch(async (error) => {
      if (!hasSqlState(error, PRESENT)) throw error;
      await session.query(`ALTER ROLE ${login} ${attributes}`);
    });
    await session.query(`GRANT ${writeName(role, true)} TO ${login}`);
  } catch (error) {
    // not as the cause: drivers add the statement, and with it the password
    throw new ConfigurationError(
      `The login ${name} of the role ${role} cannot be put: ${getReason(error)}`,
    );
  }
}

/**
 * Reads what permission files grant.
 *
 * @param session Session of any role.
 * @returns The privileges of all roles.
 */
export async function readDeclaredGrants(
  session: SqlSession,
  { permissionsFolder, env = {} }: Pick<ValidatePermissionsConfig, "permissionsFolder" | "env">,
): Promise<Grant[]> {
  const statements = readPermissionFiles(permissionsFolder, env);
  const { grants } = declareGrants(statements, await readLiveGrants(session), false);
  return [...grants].flatMap(([key, { isGranted }]) => isGranted ? [readGrantKey(key)] : []);
}

/** The privileges of a list that a role lacks. The server compares, as it does for each statement. */
const MISSING = `SELECT g.privilege, g.type, g.schema, g.name, g."column"
FROM jsonb_to_recordset($2::text::jsonb)
  AS g(privilege text, type text, schema text, name text, "column" text)
WHERE NOT CASE
  WHEN g.type = 'schema' THEN has_schema_privilege($1::name, g.name, g.privilege)
  WHEN g.type = 'sequence'
    THEN has_sequence_privilege($1::name, format('%I.%I', g.schema, g.name), g.privilege)
  WHEN g."column" IS NULL
    THEN has_table_privilege($1::name, format('%I.%I', g.schema, g.name), g.privilege)
  ELSE has_column_privilege($1::name, format('%I.%I', g.schema, g.name), g."column", g.privilege)
END`;

/**
 * Asks the server which privileges a login lacks.
 *
 * @param session Session of any role.
 * @param login The login's name.
 * @param grants What it must have.
 * @returns One text for each privilege.
 */
export async function findMissingPrivileges(
  session: SqlSession,
  login: string,
  grants: readonly Grant[],
): Promise<string[]> {
  const rows = await session.query(MISSING, [login, JSON.stringify(grants)]);
  return rows.map(({ privilege, type, schema, name, column }) => {
    const object = type === "schema" ? name : `${schema}.${name}`;
    const part = column === null ? "" : ` (${column})`;
    return `${login} lacks ${privilege}${part} on the ${type} ${object}`;
  });
}
