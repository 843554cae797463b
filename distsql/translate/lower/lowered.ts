import type { DeclaredSchema, DeclaredTable } from "../../schema/declared_schema.ts";
import type { AlterAction } from "../../syntax/alter_action.ts";
import type { StatementReader } from "../../../sql/statement_reader.ts";
import type { DistSqlStep, StatementTranslation } from "../context/translation.ts";

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

/**
 * ALTER TABLE in progress: statements before its actions, remaining actions, and statements after
 * it.
 */
export interface Alteration extends Lowering {
  /** Table before the statement, if the files declare it. */
  readonly table: DeclaredTable | undefined;
  /** `ALTER TABLE [IF EXISTS] [ONLY] name`. */
  readonly head: string;
  /** Table, as written. */
  readonly tableText: string;
  /** Name of the table. */
  readonly tableName: string;
  /** All actions, as written. */
  readonly all: readonly AlterAction[];
  readonly lead: Lowered[];
  readonly actions: string[];
  readonly tail: Lowered[];
}
