import { ANY_OPTION, checkOptions, OBJECT_OPTION } from "../../../core/option_rules.ts";
import { FUNCTION_RULES } from "../../../core/function_options.ts";
import type { LambdaContext } from "../../../core/http/lambda.ts";
import { environment } from "../../../env/get_env.ts";
import { isAppError } from "../../../errors/app_error.ts";
import { describeDriverError } from "../../../errors/driver_error.ts";
import { ConfigurationError } from "../../../errors/http_errors.ts";
import { logError, logInfo } from "../../../observability/logger.ts";
import { checkDatabaseConfig } from "../../config/check_config.ts";
import { closeDrizzleClient } from "../../providers/client.ts";
import type { DatabaseConfig } from "../../config/config.ts";
import { applyPermissions } from "../../permissions/apply.ts";
import { putLogins } from "../../permissions/logins.ts";
import { MigrationError, MigrationLockedError } from "../migration_error.ts";
import { type DryRunMigration, type MigrationTarget, runMigrations } from "../run.ts";
import { getMigrationStatus } from "../status.ts";
import { type BundledProject, getBundledProject } from "./bundled_project.ts";
import type {
  MigrationFailureResponse,
  MigrationGrantsResponse,
  MigrationRequest,
  MigrationResponse,
  MigrationRunResponse,
  MigrationStatusResponse,
} from "./migration_request.ts";
import { isRecording, record } from "../../../env/recording.ts";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Options of {@link defineMigrationHandler}. */
export interface MigrationHandlerOptions {
  /**
   * The database, with the role that owns the tables. Read its address from variables that no other
   * function reads, so that only this function has the right to them. On `distsql` with `isAdmin`.
   */
  database: DatabaseConfig;
  /**
   * The function's timeout in seconds, 1 to 900, for the infrastructure generator.
   * @default 900
   */
  timeout?: number;
  /** The function's memory in MB, 128 to 10240, for the infrastructure generator. */
  memorySize?: number;
  /**
   * Folder of the migrations in code that `trellis build` has not built, such as in tests.
   * @default "migrations"
   */
  migrationsFolder?: string;
  /**
   * Folder of the permission files in such code.
   * @default "permissions"
   */
  permissionsFolder?: string;
}

/** The function that {@link defineMigrationHandler} returns. */
export type MigrationHandler = (
  request: MigrationRequest,
  context: LambdaContext,
) => Promise<MigrationResponse>;

/** Time in milliseconds that is kept to release the lock and to respond. */
const MARGIN_MS = 5_000;
/** Seconds to wait for another run in one invocation. */
const LOCK_SECONDS = 60;

/**
 * Creates the Lambda function that applies migrations and grants, for databases that only functions in
 * a VPC can reach. `trellis build` puts the files into its bundle, and `trellis deploy` invokes it before new
 * code gets traffic. It needs no trigger: put it into `src/functions/standalone/`.
 *
 * The function does not throw: its response has the failure. It never contains SQL or values, and so do
 * its logs.
 *
 * @param options The database, and resources for the infrastructure generator.
 * @returns The function to export.
 * @throws {ConfigurationError} If an option is unknown or invalid.
 *
 * @example
 * ```ts
 * // src/functions/standalone/migrations.ts
 * import { defineMigrationHandler } from "@trellis/fn/database/migrate";
 * import { getOptionalEnv } from "@trellis/fn/env";
 *
 * export const handler = defineMigrationHandler({
 *   database: { provider: "postgres", connectionString: getOptionalEnv("MIGRATION_DATABASE_URL", "postgres://localhost/notes") },
 * });
 * console.log(handler.name); // runMigrationRequest
 * ```
 */
export function defineMigrationHandler(options: MigrationHandlerOptions): MigrationHandler {
  const { timeout, memorySize } = FUNCTION_RULES;
  checkOptions("defineMigrationHandler", options, {
    database: OBJECT_OPTION,
    timeout,
    memorySize,
    migrationsFolder: ANY_OPTION,
    permissionsFolder: ANY_OPTION,
  });
  // variables that are not set have stand-ins, which are no addresses
  if (!isRecording()) checkDatabaseConfig(options.database);
  const database: DatabaseConfig = { instrument: false, ...options.database };
  const project = getBundledProject();
  let folders: ProjectFolders | undefined;

  function getTarget(): MigrationTarget & ProjectFolders {
    const { migrationsFolder = "migrations", permissionsFolder = "permissions" } = options;
    if (project === undefined) return { migrationsFolder, permissionsFolder, database };
    folders ??= writeProjectFolders(project);
    const { migrationsTable, migrationsSchema, translation } = project;
    return { ...folders, database, migrationsTable, migrationsSchema, translation };
  }

  async function respond(
    request: MigrationRequest,
    context: LambdaContext,
  ): Promise<MigrationResponse> {
    const target = getTarget();
    switch (request?.action) {
      case "status":
        return await readStatus(target, project?.digest);
      case "migrate":
        checkDigest(request.digest, project?.digest);
        return await migrate(target, request.budgetSeconds, context);
      case "grants":
        checkDigest(request.digest, project?.digest);
        return await grant(target, request);
      default:
        throw new ConfigurationError(
          'The request must have an action: { "action": "status" }, "migrate" or "grants"',
        );
    }
  }

  async function runMigrationRequest(
    request: MigrationRequest,
    context: LambdaContext,
  ): Promise<MigrationResponse> {
    try {
      return await respond(request, context);
    } catch (error) {
      const failure = toFailure(error);
      const { ok: _, message, ...place } = failure;
      logError("The migration request failed", { ...place, reason: message });
      return failure;
    } finally {
      // a frozen sandbox must not keep connections
      await closeDrizzleClient(database).catch(() => {});
    }
  }
  return record("defineMigrationHandler", [options], runMigrationRequest);
}

function checkDigest(wanted: string | undefined, bundled: string | undefined): void {
  if (wanted === undefined || wanted === bundled) return;
  throw new ConfigurationError(
    "The deployed migration function has other files than the project: nothing was run. Deploy again",
  );
}

async function readStatus(
  target: MigrationTarget,
  digest: string | undefined,
): Promise<MigrationStatusResponse> {
  const { applied, pending, changed, findings, unfinished = [] } = await getMigrationStatus(target);
  const begun = new Map(unfinished.map((migration) => [migration.tag, migration]));
  const plans = await planPending(target, pending, changed);
  return {
    ok: true,
    action: "status",
    digest,
    applied: applied.map(({ tag }) => tag),
    pending: pending.map((tag) => ({
      tag,
      statements: plans.get(tag)?.statements.length ?? 0,
      isTransaction: plans.get(tag)?.atomic ?? false,
      statementsDone: begun.get(tag)?.statementsDone ?? 0,
      notedAt: begun.get(tag)?.notedAt.toISOString(),
    })),
    changed,
    findings,
  };
}

/** Plans the pending migrations; a changed file must be restored first. */
async function planPending(
  target: MigrationTarget,
  pending: readonly string[],
  changed: readonly string[],
): Promise<ReadonlyMap<string, DryRunMigration>> {
  if (pending.length === 0 || changed.length > 0) return new Map();
  const { plan = [] } = await runMigrations({ ...target, dryRun: true });
  return new Map(plan.map((migration) => [migration.tag, migration]));
}

async function migrate(
  target: MigrationTarget,
  budgetSeconds: number = Infinity,
  context: LambdaContext,
): Promise<MigrationRunResponse> {
  const remainingMs = context.getRemainingTimeInMillis() - MARGIN_MS;
  const budgetMs = Math.max(1000, Math.min(budgetSeconds * 1000, remainingMs));
  const response = { ok: true, action: "migrate", isLocked: false } as const;
  try {
    const { migrations, isComplete, warnings } = await runMigrations({
      ...target,
      stopAtMs: Date.now() + budgetMs,
      lockTimeoutSeconds: Math.min(LOCK_SECONDS, budgetMs / 1000),
      logger: (message) => logInfo(message),
    });
    return { ...response, applied: migrations.map(({ tag }) => tag), isComplete, warnings };
  } catch (error) {
    if (!(error instanceof MigrationLockedError)) throw error;
    return { ...response, isLocked: true, applied: [], isComplete: false, warnings: [] };
  }
}

async function grant(
  { permissionsFolder, database }: ProjectFolders & MigrationTarget,
  { variables = {}, logins = [] }: MigrationRequest & { action: "grants" },
): Promise<MigrationGrantsResponse> {
  const config = { permissionsFolder, database, env: { ...environment(), ...variables } };
  const logger = (message: string) => logInfo(message);
  const { applied, skipped, errors } = await applyPermissions({ ...config, logger });
  const isPut = errors.length === 0 && logins.length > 0;
  return {
    ok: true,
    action: "grants",
    applied,
    skipped,
    errors: isPut ? await putLogins(config, logins) : errors,
    logins: isPut ? logins.length : 0,
  };
}

/** Returns the reason of a failure, without SQL and values. */
function toFailure(error: unknown): MigrationFailureResponse {
  const { tag, line, statement } = error instanceof MigrationError ? error : {};
  return {
    ok: false,
    message: describeError(error),
    ...tag !== undefined && { file: `${tag}.sql` },
    ...line !== undefined && { line },
    ...statement !== undefined && { statement },
  };
}

function describeError(error: unknown): string {
  if (isAppError(error)) return error.message;
  const reason = describeDriverError(error);
  if (reason !== undefined) return reason;
  const { name = "Error", code } = (error ?? {}) as { name?: string; code?: unknown };
  return `The database could not be reached: ${typeof code === "string" ? code : name}`;
}

/** Folders with the files of a project. */
interface ProjectFolders {
  readonly migrationsFolder: string;
  readonly permissionsFolder: string;
}

/** The only folder that a Lambda function can write to. */
const TEMPORARY = "/tmp";

/**
 * Writes the files of a bundle into a temporary folder, where the runner reads them.
 *
 * @param project The files.
 * @returns The folders.
 */
function writeProjectFolders(project: BundledProject): ProjectFolders {
  const root = mkdtempSync(join(TEMPORARY, "trellis-migrations-"));
  const write = (name: "migrations" | "permissions"): string => {
    const folder = join(root, name);
    mkdirSync(folder);
    for (const [path, text] of Object.entries(project[name])) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    return folder;
  };
  return { migrationsFolder: write("migrations"), permissionsFolder: write("permissions") };
}
