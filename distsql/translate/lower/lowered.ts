import type { DeclaredSchema } from "../../schema/declared_schema.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import type { DistSqlStep, StatementTranslation } from "../translation.ts";

/**
 * Replacement for a statement: statements of PostgreSQL to translate, and steps that are ready to
 * run.
 */
export type Lowered = StatementReader | DistSqlStep;

/** Statement to replace. */
export interface Lowering {
  /** The statement, as written for PostgreSQL. */
  readonly reader: StatementReader;
  /** Declarations before it. */
  readonly before: DeclaredSchema;
  /** Declarations after it. */
  readonly after: DeclaredSchema;
  /** Receives rules, warnings and refusals. */
  readonly t: StatementTranslation;
}
