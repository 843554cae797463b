import type { StatementReader } from "../statement_reader.ts";
import type { DistSqlStep } from "../translation.ts";

/**
 * Replacement for a statement: statements of PostgreSQL to translate, and steps that are ready to
 * run.
 */
export type Lowered = StatementReader | DistSqlStep;
