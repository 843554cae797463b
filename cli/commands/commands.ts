import type { Command } from "../terminal/command.ts";
import { build } from "./build.ts";
import { createCheckAll, listChecks } from "./check_all.ts";
import { checkCompat } from "./check_compat.ts";
import { checkApiCompat } from "./check_api_compat.ts";
import { deploy } from "./deploy.ts";
import { destroy } from "./destroy.ts";
import { checkMigrations } from "./check_migrations.ts";
import { checkPermissionsFresh } from "./check_permissions_fresh.ts";
import { dbApplyPermissions } from "./db_apply_permissions.ts";
import { dbClone } from "./db_clone.ts";
import { dbMarkApplied } from "./db_mark_applied.ts";
import { dbMigrate } from "./db_migrate.ts";
import { dbRollback } from "./db_rollback.ts";
import { dbRotate } from "./db_rotate.ts";
import { dbReset, dbSeed } from "./db_seed.ts";
import { dbSquash } from "./db_squash.ts";
import { dbStatus } from "./db_status.ts";
import { dbTables } from "./db_tables.ts";
import { dbTranslate } from "./db_translate.ts";
import { dev } from "./dev.ts";
import { generateAsyncapi } from "./generate_asyncapi.ts";
import { generateAuthSchema } from "./generate_auth_schema.ts";
import { generateClient } from "./generate_client.ts";
import { generateInfra } from "./generate_infra.ts";
import { generateMigration } from "./generate_migration.ts";
import { generateOpenapi } from "./generate_openapi.ts";
import { generatePermissions } from "./generate_permissions.ts";
import { init } from "./init.ts";
import {
  jobsCancel,
  jobsList,
  jobsPause,
  jobsResume,
  jobsRetry,
  jobsShow,
  jobsStats,
} from "./jobs.ts";
import {
  workflowsCancel,
  workflowsList,
  workflowsReplay,
  workflowsRetry,
  workflowsShow,
} from "./workflows.ts";
import { secretsList, secretsSet } from "./secrets.ts";

/** All commands in the order of the help. */
export const COMMANDS: readonly Command[] = [
  init,
  dev,
  generatePermissions,
  generateInfra,
  generateOpenapi,
  generateAsyncapi,
  generateClient,
  generateAuthSchema,
  generateMigration,
  dbMigrate,
  dbStatus,
  dbRollback,
  dbSquash,
  dbSeed,
  dbReset,
  dbMarkApplied,
  dbApplyPermissions,
  dbRotate,
  dbClone,
  dbTranslate,
  dbTables,
  jobsList,
  jobsStats,
  jobsShow,
  jobsRetry,
  jobsCancel,
  jobsPause,
  jobsResume,
  workflowsList,
  workflowsShow,
  workflowsRetry,
  workflowsCancel,
  workflowsReplay,
  checkMigrations,
  checkApiCompat,
  checkCompat,
  checkPermissionsFresh,
  createCheckAll(
    listChecks([
      generatePermissions,
      generateInfra,
      generateOpenapi,
      generateAsyncapi,
      generateClient,
      generateAuthSchema,
    ]),
  ),
  build,
  deploy,
  destroy,
  secretsSet,
  secretsList,
];
