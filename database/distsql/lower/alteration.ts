import type { DeclaredSchema, DeclaredTable } from "../declared/declared_schema.ts";
import type { StatementReader } from "../statement_reader.ts";
import type { StatementTranslation } from "../translation.ts";
import type { Lowered } from "./lowered.ts";

/**
 * ALTER TABLE in progress: statements before its actions, remaining actions, and statements after
 * it.
 */
export interface Alteration {
  readonly reader: StatementReader;
  readonly before: DeclaredSchema;
  readonly after: DeclaredSchema;
  /** Table before the statement, if the files declare it. */
  readonly table: DeclaredTable | undefined;
  /** `ALTER TABLE [IF EXISTS] [ONLY] name`. */
  readonly head: string;
  /** Table, as written. */
  readonly tableText: string;
  /** Name of the table. */
  readonly tableName: string;
  readonly t: StatementTranslation;
  readonly lead: Lowered[];
  readonly actions: string[];
  readonly tail: Lowered[];
}
