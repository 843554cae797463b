/**
 * Tools for migrations and permission files: a function that applies them, plans, states and errors.
 * `runMigrations` and `applyPermissions` themselves are in `./database`.
 *
 * @example
 * ```ts
 * import { checkMigrationFolder } from "@trellis/fn/database/migrate";
 * import { mkdtempSync, writeFileSync } from "node:fs";
 *
 * const folder = mkdtempSync("/tmp/migrations-");
 * writeFileSync(`${folder}/0001_notes.sql`, "CREATE TABLE notes (id int PRIMARY KEY);");
 * console.log(checkMigrationFolder(folder).files.length); // 1
 * ```
 *
 * @module
 */
export type { UndecidedStatement } from "./migrations/context.ts";
export {
  defineMigrationHandler,
  type MigrationHandler,
  type MigrationHandlerOptions,
} from "./migrations/function/define_migration_handler.ts";
export type {
  MigrationFailureResponse,
  MigrationGrantsResponse,
  MigrationRequest,
  MigrationResponse,
  MigrationRunResponse,
  MigrationStatusResponse,
  PendingMigration,
} from "./migrations/function/migration_request.ts";
export {
  MigrationError,
  type MigrationErrorOptions,
  MigrationPlanError,
} from "./migrations/migration_error.ts";
export type { FunctionLogin } from "./permissions/logins.ts";
export type { AppliedMigration, MigrationStatus } from "./migrations/plan.ts";
export {
  checkMigrationFolder,
  type FolderPlan,
  planMigrationFolder,
} from "./migrations/plan_folder.ts";
export type { DryRunMigration, MigratedFile, MigrationTarget } from "./migrations/run.ts";
export { getMigrationStatus } from "./migrations/status.ts";
export type { PermissionObjectType } from "./permissions/permission_statement.ts";
export type { PermissionVariables } from "./permissions/substitute.ts";
export { formatPlanFinding, type PlanFinding } from "../sql/plan_finding.ts";
