/**
 * Database access: one client per configuration on five kinds of PostgreSQL, transactions, retries
 * of conflicts, queries with metrics and declared tables, migrations and permissions. Types that only
 * signatures name are in `./database/types`, tools for migrations in `./database/migrate`, and what
 * belongs to Aurora DSQL in `./distsql`.
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
export { DatabaseError, ForeignKeyViolationError } from "../errors/database_errors.ts";
export { closeDrizzleClient, getDrizzleClient } from "./providers/client.ts";
export type { DatabaseConfig, DatabaseProvider } from "./config/config.ts";
export { onConnectionInvalidated } from "./providers/connection_events.ts";
export { adaptForStandardPg } from "../distsql/translate/adapt.ts";
export { classifyStatement, type StatementClassification } from "../distsql/translate/classify.ts";
export {
  DIST_SQL_INCOMPATIBILITIES,
  getByAction,
  getByCategory,
  getIncompatibility,
} from "../distsql/registry/incompatibilities.ts";
export {
  DistSqlAction,
  DistSqlCategory,
  type DistSqlIncompatibility,
} from "../distsql/registry/incompatibility.ts";
export { sanitizeForDistSql } from "../distsql/translate/sanitize.ts";
export { executeRows } from "./session/execute.ts";
export { assertRowExists, assertRowsExist } from "./integrity.ts";
export {
  applyPermissions,
  type PermissionsConfig,
  type PermissionsResult,
} from "./permissions/apply.ts";
export {
  type PermissionGap,
  validatePermissions,
  type ValidatePermissionsConfig,
  type ValidatePermissionsResult,
} from "./permissions/validate.ts";
export type { MigrationFile } from "./migrations/files.ts";
export { readMigrationFiles } from "./migrations/folder.ts";
export {
  type MarkAppliedConfig,
  type MarkAppliedResult,
  markMigrationApplied,
} from "./migrations/mark_applied.ts";
export { type MigrateConfig, type MigrateResult, runMigrations } from "./migrations/run.ts";
export type { DrizzleClient, QueryResult } from "./session/drizzle_client.ts";
export { applyAlterToSchema } from "../distsql/recreate/alter.ts";
export { buildCreateTableSql } from "../distsql/recreate/create_table.ts";
export {
  executeRecreation,
  getEstimatedRowCount,
  introspectTable,
} from "./migrations/recreation.ts";
export { generateRecreationPlan } from "../distsql/recreate/plan.ts";
export type { RecreationPlan } from "../distsql/recreate/recreation_plan.ts";
export type {
  TableColumn,
  TableConstraint,
  TableIndex,
  TableSchema,
} from "../distsql/schema/table_schema.ts";
export type { ConstraintAnswers } from "./queries/constraint_answers.ts";
export {
  createQueryFactory,
  type DefinedQuery,
  type DefineQueryOptions,
  type QueryFactory,
} from "./queries/query_factory.ts";
export type {
  DefinedStatement,
  DefineStatementOptions,
  Params,
} from "./queries/define_statement.ts";
export type { QueryTable } from "./queries/query_tables.ts";
export { configureRateLimits, resetRateLimits } from "./rate_limits/configure.ts";
export { RATE_LIMIT_MIGRATION_SQL } from "./rate_limits/migration.ts";
export { RATE_LIMIT_COLUMNS, rateLimits } from "./rate_limits/table.ts";
export { withQueryMetrics } from "./queries/query_metrics.ts";
export { getTablePermissions, RequiresTable } from "./queries/requires_table.ts";
export { DatabaseOperation, type TablePermission } from "./queries/table_permission.ts";
export { type DistSqlRetryOptions, withDistSqlRetry } from "./session/retry.ts";
export {
  IDEMPOTENT_DDL_CODES,
  IDEMPOTENT_TEST_CODES,
  isIdempotentDdlError,
  isOccError,
  OCC_ERROR_CODES,
} from "../sql/sqlstate.ts";
export { type TransactionClient, withTransaction } from "./session/transaction.ts";
