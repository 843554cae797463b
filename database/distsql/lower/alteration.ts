import type { DeclaredSchema, DeclaredTable } from "../declared/declared_schema.ts";
import type { StatementReader } from "../statement_reader.ts";
import type { StatementTranslation } from "../translation.ts";
import type { Lowered } from "./lowered.ts";

/** An ALTER TABLE under way: what comes before its actions, the actions that are left, and what comes after. */
export interface Alteration {
  readonly reader: StatementReader;
  readonly before: DeclaredSchema;
  readonly after: DeclaredSchema;
  /** The table before the statement, when the files declare it. */
  readonly table: DeclaredTable | undefined;
  /** `ALTER TABLE [IF EXISTS] [ONLY] name`. */
  readonly head: string;
  /** The table as written. */
  readonly tableText: string;
  /** The table's name. */
  readonly tableName: string;
  readonly t: StatementTranslation;
  readonly lead: Lowered[];
  readonly actions: string[];
  readonly tail: Lowered[];
}
