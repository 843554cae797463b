import { existsSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { ExitCode } from "../command.ts";
import type { DatabaseTarget } from "../database/to_database_target.ts";
import { type Deployment, StepError } from "./deployment.ts";

/**
 * Finds the database of a stage: the option `--endpoint`, the cluster in Terraform's outputs, else the
 * variables and settings that `trellis db migrate` uses.
 *
 * @param deployment The deployment.
 * @returns The options of database commands with the target; `undefined` without a database.
 */
async function findStageDatabase(
  { context, plan, terraform }: Deployment,
): Promise<{ options: Record<string, string | boolean>; target: DatabaseTarget } | undefined> {
  const { findDatabase } = await import("../database/database_target.ts");
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

/**
 * Applies the pending migrations.
 *
 * @param deployment The deployment.
 * @returns One line about the result.
 * @throws {StepError} If a migration failed.
 */
export async function migrate(deployment: Deployment): Promise<string | undefined> {
  const { context, plan } = deployment;
  const folder = plan.config.database.migrationsDir;
  const found = await findStageDatabase(deployment);
  if (found === undefined || !existsSync(resolve(context.root, folder))) return undefined;
  const [{ runCaptured }, { dbMigrate }] = await Promise.all([
    import("../database/run_captured.ts"),
    import("../commands/db_migrate.ts"),
  ]);
  const { exitCode, lines } = await runCaptured(dbMigrate, context, found.options);
  if (exitCode !== ExitCode.Done) throw new StepError(lines.join("\n"));
  return lines.at(-1);
}

/**
 * Applies the generated roles and grants.
 *
 * @param deployment The deployment.
 * @returns One line about the result.
 * @throws {StepError} If a statement failed.
 */
export async function grant(deployment: Deployment): Promise<string | undefined> {
  const { context, plan, prefix, terraform } = deployment;
  const permissionsFolder = resolve(context.root, plan.config.permissions.dir);
  const found = await findStageDatabase(deployment);
  if (found === undefined || !existsSync(permissionsFolder)) return undefined;
  const { account_id: account } = await terraform.readOutputs();
  const [{ applyPermissions }, { closeDrizzleClient }] = await Promise.all([
    import("../../database/permissions/apply.ts"),
    import("../../database/client.ts"),
  ]);
  const database = found.target.config;
  try {
    const { applied, skipped, errors } = await applyPermissions({
      permissionsFolder,
      database,
      env: { ...process.env, RESOURCE_PREFIX: prefix, AWS_ACCOUNT_ID: String(account) },
    });
    if (errors.length > 0) throw new StepError(errors.join("\n"));
    return `${applied} applied, ${skipped} unchanged`;
  } finally {
    await closeDrizzleClient(database);
  }
}
