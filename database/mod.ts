/**
 * Database access: one client per configuration on four kinds of PostgreSQL, transactions, retries
 * of conflicts, queries with metrics and declared tables, and migrations.
 *
 * @example
 * ```ts
 * import { closeDrizzleClient, getDrizzleClient, withTransaction } from "@trellis/fn/database";
 * import { sql } from "@trellis/fn/database/orm";
 *
 * const db = await getDrizzleClient({ provider: "embedded-pg" });
 * await withTransaction(db, (tx) => tx.execute(sql`select 1`));
 * await closeDrizzleClient();
 * ```
 *
 * @module
 */
export {
  CommitOutcomeUnknownError,
  DatabaseError,
  type DatabaseErrorOptions,
  ForeignKeyViolationError,
  type ForeignKeyViolationOptions,
  UniqueViolationError,
  type UniqueViolationOptions,
} from "../errors/database_errors.ts";
export { TransactionMisuseError } from "../errors/transaction_misuse_error.ts";
export { closeDrizzleClient, getDrizzleClient } from "./client.ts";
export type { DatabaseConfig, DatabaseProvider, PoolerMode, SslMode } from "./config.ts";
export {
  type ConnectionInvalidation,
  type ConnectionInvalidationReason,
  onConnectionInvalidated,
} from "./connection_events.ts";
export { adaptForStandardPg } from "../distsql/translate/adapt.ts";
export type {
  DeclaredColumn,
  DeclaredConstraint,
  DeclaredDomain,
  DeclaredEnum,
  DeclaredIndex,
  DeclaredSchema,
  DeclaredSequence,
  DeclaredTable,
  DeclaredView,
  ObjectName,
  ViewSource,
} from "../distsql/schema/declared_schema.ts";
export { classifyStatement, type StatementClassification } from "../distsql/translate/classify.ts";
export {
  RecreationRequiredError,
  StatementError,
  type StatementErrorOptions,
  UnsupportedStatementError,
} from "../distsql/translate/context/errors.ts";
export {
  DIST_SQL_INCOMPATIBILITIES,
  getByAction,
  getByCategory,
  getIncompatibility,
} from "../distsql/registry/incompatibilities.ts";
export {
  DistSqlAction,
  DistSqlCategory,
  type DistSqlEvidence,
  type DistSqlIncompatibility,
} from "../distsql/registry/incompatibility.ts";
export type { DistSqlOptions } from "../distsql/translate/context/options.ts";
export { sanitizeForDistSql, translateForDistSql } from "../distsql/translate/sanitize.ts";
export type {
  DistSqlBatch,
  DistSqlColumn,
  DistSqlJob,
  DistSqlNotNull,
  DistSqlStep,
  DistSqlTranslation,
  DistSqlTruncation,
  DistSqlWarning,
} from "../distsql/translate/context/translation.ts";
export { executeRows } from "./execute.ts";
export { assertRowExists, assertRowsExist, type ReferenceOptions } from "./integrity.ts";
export {
  applyPermissions,
  type PermissionsConfig,
  type PermissionsResult,
} from "./permissions/apply.ts";
export type { PermissionObjectType } from "./permissions/permission_statement.ts";
export type { PermissionVariables } from "./permissions/substitute.ts";
export {
  type PermissionGap,
  validatePermissions,
  type ValidatePermissionsConfig,
  type ValidatePermissionsResult,
} from "./permissions/validate.ts";
export { type EmbeddedSnapshot, setEmbeddedSnapshot } from "./providers/embedded_snapshot.ts";
export type { MigrationFile } from "./migrations/files.ts";
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
export { readMigrationFiles } from "./migrations/folder.ts";
export {
  type MarkAppliedConfig,
  type MarkAppliedResult,
  markMigrationApplied,
} from "./migrations/mark_applied.ts";
export {
  MigrationError,
  type MigrationErrorOptions,
  MigrationPlanError,
} from "./migrations/migration_error.ts";
export { formatPlanFinding, type PlanFinding } from "../sql/plan_finding.ts";
export {
  checkMigrationFolder,
  type FolderPlan,
  planMigrationFolder,
} from "./migrations/plan_folder.ts";
export type { AppliedMigration, MigrationStatus } from "./migrations/plan.ts";
export type { UndecidedStatement } from "./migrations/context.ts";
export {
  type DryRunMigration,
  type MigrateConfig,
  type MigratedFile,
  type MigrateResult,
  type MigrationTarget,
  runMigrations,
} from "./migrations/run.ts";
export { getMigrationStatus } from "./migrations/status.ts";
export type { DrizzleClient } from "./providers/provider.ts";
export type { Row } from "../sql/session.ts";
export type { QueryResult, QueryResultField, QueryResultHKT } from "./session/query_result.ts";
export { applyAlterToSchema } from "../distsql/recreate/alter.ts";
export { buildCreateTableSql } from "../distsql/recreate/create_table.ts";
export type { RecreationOptions, RecreationResult } from "../distsql/recreate/execute.ts";
export { executeRecreation, getEstimatedRowCount, introspectTable } from "./recreation.ts";
export { generateRecreationPlan } from "../distsql/recreate/plan.ts";
export {
  RecreationError,
  type RecreationErrorOptions,
  type RecreationFailure,
} from "../distsql/recreate/recreation_error.ts";
export type {
  CopiedColumn,
  CopyKey,
  CopyStep,
  GrantsStep,
  PlannedStep,
  PositionStep,
  RecreationCopy,
  RecreationPhase,
  RecreationPlan,
  RecreationStep,
  RenameSequenceStep,
  StatementStep,
  VerifyStep,
} from "../distsql/recreate/recreation_plan.ts";
export type {
  IncomingForeignKey,
  OwnedSequence,
  TableColumn,
  TableConstraint,
  TableConstraintType,
  TableGrant,
  TableIdentity,
  TableIndex,
  TableSchema,
} from "../distsql/schema/table_schema.ts";
export type { ConstraintAnswer, ConstraintAnswers } from "./queries/constraint_answers.ts";
export {
  createQueryFactory,
  type DefinedQuery,
  type DefineQueryOptions,
  type QueryFactory,
} from "./queries/query_factory.ts";
export type {
  DefinedStatement,
  DefineStatementOptions,
  Param,
  Params,
  StatementArguments,
  StatementClient,
} from "./queries/define_statement.ts";
export type { QueryTable } from "./queries/query_tables.ts";
export {
  configureRateLimits,
  type RateLimitConfig,
  resetRateLimits,
} from "./rate_limits/configure.ts";
export { RATE_LIMIT_MIGRATION_SQL } from "./rate_limits/migration.ts";
export type { RateLimitDatabase } from "./rate_limits/store.ts";
export {
  RATE_LIMIT_COLUMNS,
  type RateLimitColumns,
  rateLimits,
  type RateLimitTable,
} from "./rate_limits/table.ts";
export { type QueryMetricsOptions, withQueryMetrics } from "./queries/query_metrics.ts";
export {
  getTablePermissions,
  RequiresTable,
  type TableDecorator,
} from "./queries/requires_table.ts";
export {
  DatabaseOperation,
  type TableDeclaration,
  type TableOperation,
  type TablePermission,
} from "./table_permission.ts";
export { type DistSqlRetryOptions, withDistSqlRetry } from "./retry.ts";
export {
  IDEMPOTENT_DDL_CODES,
  IDEMPOTENT_TEST_CODES,
  isIdempotentDdlError,
  isOccError,
  OCC_ERROR_CODES,
} from "../sql/sqlstate.ts";
export type { PlaceholderValues } from "./session/placeholders.ts";
export { type TransactionClient, withTransaction } from "./transaction.ts";
