/**
 * What the database package uses of the distributed engine: translation of migrations, changes of
 * rows in batches, and recreation of tables. Other folders of the engine are its own.
 *
 * @module
 */
export {
  type BatchedChange,
  type BatchKey,
  decideChange,
  needsBatches,
  openChange,
} from "./batches/batched_change.ts";
export type { BatchRefusal } from "./batches/decide_batch.ts";
export { planRowChanges, type RowChangeRefusal, UNBATCHABLE } from "./batches/plan_row_changes.ts";
export { isOverLimit, runBatches } from "./batches/run_batches.ts";
export {
  planRecreation,
  type RecreationOptions,
  type RecreationResult,
  runRecreation,
} from "./recreate/execute.ts";
export { estimateRows, readTableSchema } from "./recreate/read_current.ts";
export { pollJob, readJob } from "./recreate/poll_job.ts";
export type { RecreationPlan } from "./recreate/recreation_plan.ts";
export type { TableSchema } from "./schema/table_schema.ts";
export { getIncompatibility } from "./registry/incompatibilities.ts";
export type { DeclaredSchema } from "./schema/declared_schema.ts";
export { adaptForStandardPg } from "./translate/adapt.ts";
export type { DistSqlOptions } from "./translate/context/options.ts";
export { type ActionOf, type AlterAction, readAlterActions } from "./syntax/alter_action.ts";
export { SERIAL } from "./syntax/column_definition.ts";
export { isNotValid, type TableConstraint } from "./syntax/table_constraint.ts";
export { STABLE_FUNCTIONS, SYNTAX_WORDS, TIME_FUNCTIONS } from "./syntax/known_functions.ts";
export { notNullCheck, readNotNullCheck } from "./syntax/not_null_check.ts";
export { sanitizeForDistSql } from "./translate/sanitize.ts";
export {
  type FileTransactions,
  findStatementProblems,
  type ReadStatement,
} from "./findings/transaction_findings.ts";
export { type TranslatedSource, translateSources } from "./findings/translate_sources.ts";
export type { TranslatedStatement } from "./translate/translate_text.ts";
export type {
  DistSqlColumn,
  DistSqlJob,
  DistSqlNotNull,
  DistSqlStep,
  DistSqlTruncation,
} from "./translate/context/translation.ts";
