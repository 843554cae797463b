import type { DeclaredTable } from "../../schema/declared_schema.ts";
import type { Lowered, Lowering } from "./lowered.ts";

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
  /** Ranges of all actions. */
  readonly ranges: readonly (readonly [from: number, to: number])[];
  readonly lead: Lowered[];
  readonly actions: string[];
  readonly tail: Lowered[];
}
