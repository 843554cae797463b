import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import type { DatabaseConfig } from "../../database/config/config.ts";
import { findSqlState } from "../../errors/driver_error.ts";
import { ConfigurationError } from "../../errors/http_errors.ts";
import { readBundledProject } from "../build/bundled_project.ts";
import type { Command } from "../terminal/command.ts";
import { findDatabase } from "../database/database_target.ts";
import type { DatabaseTarget } from "../database/to_database_target.ts";
import { substituteVariables } from "../../database/permissions/substitute.ts";
import { findMigrationFunction } from "../infra/migration_function.ts";
import { type Deployment, runCommand, StepError } from "./deployment.ts";
import { createAddressTrial, describeSharedLogins, giveLogins } from "./function_logins.ts";
import { grantInFunction, migrateInFunction } from "./migrate_in_function.ts";
import { type MigrationFunction, openMigrationFunction } from "./migration_function.ts";

/**
 * Finds the database of a stage: the option `--endpoint`, the cluster in Terraform's outputs, else the
 * variables and settings that `trellis db migrate` uses.
 *
 * @returns The options of database commands with the target; `undefined` without a database.
 */
async function findStageDatabase(
  { context, plan, terraform }: Deployment,
): Promise<{ options: Record<string, string | boolean>; target: DatabaseTarget } | undefined> {
  const outputs = await terraform.readOutputs();
  const endpoint = context.options.endpoint ?? outputs.database_endpoint;
  const options = {
    yes: true,
    ...typeof context.options.config === "string" ? { config: context.options.config } : {},
    ...typeof endpoint === "string" ? { endpoint } : {},
  };
  const settings = plan.config.database;
  const target = findDatabase({ options, settings, env: process.env, root: context.root });
  // the embedded database is for local development only
  if (target === undefined || target.config.provider === "embedded-pg") return undefined;
  return { options, target };
}

/** Opens the migration function, if the project has one. */
async function openFunction(
  deployment: Deployment,
): Promise<
  | { fn: MigrationFunction; digest: string; onNote: (text: string) => void }
  | undefined
> {
  const { context: { output, root }, plan: { config, sources } } = deployment;
  const found = findMigrationFunction(sources.functions);
  if (found === undefined) return undefined;
  const onNote = (text: string) => output.note(`  ${text}`);
  const fn = await openMigrationFunction(deployment, found.name, onNote);
  return { fn, digest: readBundledProject(root, config).digest, onNote };
}

/** Returns the values of the variables that permission files name. */
function pickVariables(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const texts = readdirSync(folder).filter((name) => name.endsWith(".sql"))
    .map((name) => readFileSync(join(folder, name), "utf8"));
  const names = texts.flatMap((text) =>
    substituteVariables(text, {}).unusable.map((one) => one.name)
  );
  return Object.fromEntries(
    names.flatMap((name) => env[name] === undefined ? [] : [[name, env[name]]]),
  );
}

/**
 * Applies the pending migrations.
 *
 * @param dbMigrate The command that applies them from this machine.
 * @returns One line about the result.
 * @throws {StepError} If a migration failed, or no database is configured that the functions' migrations could be
 * applied to.
 */
export async function migrate(
  deployment: Deployment,
  dbMigrate: Command,
): Promise<string | undefined> {
  const { context, plan } = deployment;
  const folder = plan.config.database.migrationsDir;
  const throughFunction = await openFunction(deployment);
  if (throughFunction !== undefined) {
    const { fn, digest, onNote } = throughFunction;
    return await migrateInFunction(fn, { digest, onNote });
  }
  const found = await findStageDatabase(deployment);
  if (!existsSync(resolve(context.root, folder))) return undefined;
  if (found === undefined) {
    if (!plan.sources.functions.some(({ usesDatabase }) => usesDatabase)) return undefined;
    throw new StepError(
      `the functions use a database, and it is not known where to apply ${folder}: set ${plan.config.database.urlEnv} ` +
        "to its connection string, for a user who may create tables. If this machine cannot reach the database, " +
        "write a function with defineMigrationHandler",
    );
  }
  await requireSameDatabase(deployment, found.target.config);
  const { summary } = await runCommand(context, dbMigrate, found.options);
  await requireTables(deployment, found.target.config);
  return String(summary);
}

/** Identifies a database: when its server has started, and its number in the server. */
const IDENTITY = "SELECT pg_postmaster_start_time()::text AS started, oid::text AS number " +
  "FROM pg_database WHERE datname = current_database()";

/**
 * Compares the database that is about to be migrated with the address in the functions' secret. Their
 * texts may differ, because functions have their own pooler or user.
 *
 * @throws {StepError} If they are two databases, or the secret contains no address.
 */
async function requireSameDatabase(
  { context: { output }, plan, secrets, stage }: Deployment,
  database: DatabaseConfig,
): Promise<void> {
  const { connectionString } = database as { connectionString?: string };
  const variable = plan.config.database.urlEnv ?? "DATABASE_URL";
  const source = plan.secrets.find((each) => each.variable === variable);
  if (connectionString === undefined || source === undefined || source.field !== undefined) return;
  const name = secrets.getName(source);
  const value = await secrets.read(source);
  if (value === connectionString) return;
  const unproven = (reason: string) =>
    output.warn(`Whether functions use the database that is migrated was not checked: ${reason}`);
  if (value === undefined) return unproven(`these credentials may not read the secret ${name}`);
  const used = { ...database, connectionString: value } as DatabaseConfig;
  try {
    const [migrated, [theirs]] = [await readIdentity(database), await readIdentity(used)];
    if (JSON.stringify(theirs) === JSON.stringify(migrated[0])) return;
  } catch (error) {
    const sqlState = findSqlState(error);
    // the message may contain a part of the address
    if (!(error instanceof ConfigurationError) && sqlState === undefined) {
      return unproven(`the address in ${name} does not answer here (${(error as Error).name})`);
    }
    const problem = sqlState === undefined
      ? "is not the address of a database"
      : `is refused by its server (SQLSTATE ${sqlState})`;
    throw new StepError(
      `the secret ${name} ${problem}, so no function could connect: put the address with trellis ` +
        `secrets set ${variable} --stage ${stage.name} < file`,
    );
  }
  throw new StepError(
    `${variable} of this shell is another database than the functions use (secret ${name}). Nothing ` +
      `was migrated: set ${variable} to the address of the same database, or put it with trellis ` +
      `secrets set ${variable} --stage ${stage.name} < file`,
  );
}

async function readIdentity(
  database: DatabaseConfig,
): Promise<Readonly<Record<string, unknown>>[]> {
  const { withSession } = await import("../../database/providers/client.ts");
  return await withSession(database, (session) => session.query(IDENTITY));
}

/** Throws if the database lacks what functions use and migrations create, before code gets traffic. */
async function requireTables(
  { context: { root }, plan: { config, sources: { functions } } }: Deployment,
  database: DatabaseConfig,
): Promise<void> {
  // imported on demand: a project without a database may lack drizzle
  const { describeAbsentTables } = await import("./live_tables.ts");
  const problem = await describeAbsentTables(root, config, functions, database);
  if (problem !== undefined) throw new StepError(problem);
}

/**
 * Applies the generated roles and grants, and gives each function its login.
 *
 * @param options With `isRotation`, every function gets another password.
 * @returns One line about the result.
 * @throws {StepError} If a statement failed, or a login was refused.
 */
export async function grant(
  deployment: Deployment,
  options: { readonly isRotation?: boolean } = {},
): Promise<string | undefined> {
  const { context, plan, prefix, terraform } = deployment;
  const permissionsFolder = resolve(context.root, plan.config.permissions.dir);
  if (!existsSync(permissionsFolder)) {
    requireNoLogins(deployment, `the folder ${plan.config.permissions.dir} does not exist`);
    return undefined;
  }
  const { account_id: account } = await terraform.readOutputs();
  const env = {
    ...process.env,
    RESOURCE_PREFIX: prefix,
    // without the account, files that name it are refused
    AWS_ACCOUNT_ID: typeof account === "string" ? account : undefined,
  };
  const throughFunction = await openFunction(deployment);
  if (throughFunction !== undefined) {
    const { fn, digest } = throughFunction;
    const request = { digest, variables: pickVariables(permissionsFolder, env) };
    const result = await grantInFunction(fn, request);
    const logins = await giveLogins(deployment, {
      put: async (logins) => void await grantInFunction(fn, { ...request, logins }),
      tryAddress: () => Promise.resolve({ isReached: false }),
    }, options);
    return describeResult(result, logins, deployment);
  }
  const found = await findStageDatabase(deployment);
  if (found === undefined) {
    requireNoLogins(deployment, `${plan.config.database.urlEnv} is not set in this shell`);
    return undefined;
  }
  const [
    { applyPermissions },
    { putLogins, readDeclaredGrants },
    { closeDrizzleClient, withSession },
  ] = await Promise.all([
    import("../../database/permissions/apply.ts"),
    import("../../database/permissions/logins.ts"),
    import("../../database/providers/client.ts"),
  ]);
  const database = found.target.config;
  try {
    const files = { permissionsFolder, database, env };
    const { applied, skipped, errors } = await applyPermissions(files);
    if (errors.length > 0) throw new StepError(errors.join("\n"));
    const grants = plan.logins.length === 0
      ? []
      : await withSession(database, (session) => readDeclaredGrants(session, files));
    const logins = await giveLogins(deployment, {
      put: async (logins) => {
        const missing = await putLogins(files, logins);
        if (missing.length > 0) throw new StepError(missing.join("\n"));
      },
      tryAddress: createAddressTrial(database, grants),
    }, options);
    return describeResult(`${applied} applied, ${skipped} unchanged`, logins, deployment);
  } finally {
    await closeDrizzleClient(database);
  }
}

/** Throws if functions would wait for an address with a login that no step creates. */
function requireNoLogins({ plan: { logins, config } }: Deployment, problem: string): void {
  if (logins.length === 0) return;
  throw new StepError(
    `the functions need logins of their own, and ${problem}: set ${config.database.urlEnv} to the address of the ` +
      "database for a user who may create roles, and run trellis generate permissions",
  );
}

function describeResult(
  grants: string,
  logins: string | undefined,
  deployment: Deployment,
): string {
  const parts = logins === undefined ? grants : `${grants}; ${logins}`;
  return `${parts}${describeSharedLogins(deployment)}`;
}
