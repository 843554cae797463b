/**
 * Tools for SQL of Aurora DSQL and PostgreSQL: statements and tokens, the dated capabilities of the
 * provider, and the translation of whole files with their positions. The functions of a migration
 * are in `./database`.
 *
 * @example
 * ```ts
 * import { translateSources } from "@trellis/fn/distsql";
 *
 * const [file] = translateSources([{ name: "a.sql", sql: "CREATE INDEX ON notes (title DESC);" }], {});
 * console.log(file.statements.map(({ line, steps }) => [line, steps.length])); // [[1, 1]]
 * ```
 *
 * @module
 */
export {
  CAPABILITIES_AS_OF,
  DIST_SQL_CAPABILITIES,
  DIST_SQL_SOURCES,
  type DistSqlCapability,
  type DistSqlCapabilityName,
  type DistSqlSource,
  hasCapability,
  type IsoDay,
} from "./registry/capabilities.ts";
export { isActiveOn } from "./registry/incompatibilities.ts";
export {
  type LocatedStatement,
  type SqlSource,
  type TranslatedSource,
  translateSources,
} from "./findings/translate_sources.ts";
export type { TranslatedStatement } from "./translate/translate_text.ts";
export { splitStatements, type SqlStatement, STATEMENT_BREAKPOINT } from "../sql/statement.ts";
export type { TextPosition } from "../sql/text_position.ts";
export { type SqlToken, type SqlTokenKind, tokenize } from "../sql/tokenize.ts";
export {
  RecreationError,
  type RecreationErrorOptions,
  type RecreationFailure,
} from "./recreate/recreation_error.ts";
export type { RecreationOptions, RecreationResult } from "./recreate/execute.ts";
export type {
  CopiedColumn,
  CopyKey,
  CopyStep,
  GrantsStep,
  PlannedStep,
  PositionStep,
  RecreationCopy,
  RecreationPhase,
  RecreationStep,
  RenameSequenceStep,
  StatementStep,
  VerifyStep,
} from "./recreate/recreation_plan.ts";
export type { DistSqlEvidence } from "./registry/incompatibility.ts";
export type {
  DeclaredColumn,
  DeclaredDomain,
  DeclaredEnum,
  DeclaredSchema,
  DeclaredSequence,
  DeclaredTable,
  DeclaredView,
  ObjectName,
  ViewSource,
} from "./schema/declared_schema.ts";
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
} from "./schema/table_schema.ts";
export {
  RecreationRequiredError,
  StatementError,
  type StatementErrorOptions,
  UnsupportedStatementError,
} from "./translate/context/errors.ts";
export type { DistSqlOptions } from "./translate/context/options.ts";
export { translateForDistSql } from "./translate/sanitize.ts";
export type {
  DistSqlColumn,
  DistSqlJob,
  DistSqlNotNull,
  DistSqlStep,
  DistSqlTranslation,
  DistSqlTruncation,
  DistSqlWarning,
} from "./translate/context/translation.ts";
