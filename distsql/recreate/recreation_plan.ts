import type { TableGrant, TableSchema } from "../schema/table_schema.ts";

/**
 * Phase of a step: while the table is in use (`before`), while no table has its name (`frozen`), or
 * after the new table got the name (`after`).
 */
export type RecreationPhase = "before" | "frozen" | "after";

/** Column of a key that orders the batches. */
export interface CopyKey {
  /** The column. */
  name: string;
  /** Its type. */
  type: string;
  /** True if it may be NULL; such rows are handled separately. */
  nullable: boolean;
}

/** Mapping of a column. */
export interface CopiedColumn {
  /** Column of the new table. */
  name: string;
  /** SQL over the columns of the old table. */
  expression: string;
  /** Type in the new table. */
  type: string;
  /** True if type or value change. */
  changes: boolean;
  /** True if it has an explicit collation. */
  collates: boolean;
}

/** Mapping of rows from the old table to the new one. */
export interface RecreationCopy {
  /** Old table, quoted. */
  source: string;
  /** Old table after its rename. */
  frozen: string;
  /** New table before its rename. */
  target: string;
  /** Columns with values from the old table. */
  columns: CopiedColumn[];
  /** Key of the old table; empty to copy all rows with one statement. */
  key: CopyKey[];
  /** Key of the new table, for counting; empty to read all rows with one statement. */
  targetKey: CopyKey[];
  /** True if values are inserted into an identity column. */
  overriding: boolean;
}

/** What all steps have. */
export interface PlannedStep {
  /** Phase of the step. */
  phase: RecreationPhase;
  /** Description for the log. */
  title: string;
}

/** Statement. */
export interface StatementStep extends PlannedStep {
  /** Kind of step. */
  kind: "statement";
  /** The statement. */
  sql: string;
  /**
   * Query that returns in `done` whether the effect of the statement exists; omitted if the
   * statement can be repeated.
   */
  done?: string;
  /** Background job that the statement starts on the distributed-SQL provider. */
  job?: { kind: "index" | "constraint"; name: string; table: string };
  /** For an index: removes the remains of a failed build. */
  undo?: { index: string; sql: string };
}

/** Copy of all rows in batches. */
export interface CopyStep extends PlannedStep {
  /** Kind of step. */
  kind: "copy";
}

/** Comparison of the rows of both tables. */
export interface VerifyStep extends PlannedStep {
  /** Kind of step. */
  kind: "verify";
}

/** Position of an identity column. */
export interface PositionStep extends PlannedStep {
  /** Kind of step. */
  kind: "position";
  /** Column of the new table. */
  column: string;
  /** Sequence of the old column; omitted if it had none. */
  sequence?: { schema: string; name: string; increment: string };
}

/** Grants on a relation, which replace the default ones. */
export interface GrantsStep extends PlannedStep {
  /** Kind of step. */
  kind: "grants";
  /** The table. */
  table: string;
  /** Column, for the grants on its sequence. */
  column?: string;
  /** The grants. */
  grants: TableGrant[];
}

/** Rename of the sequence of an identity column. */
export interface RenameSequenceStep extends PlannedStep {
  /** Kind of step. */
  kind: "rename_sequence";
  /** The column. */
  column: string;
  /** The name. */
  name: string;
}

/** Step of a {@link RecreationPlan}. */
export type RecreationStep =
  | StatementStep
  | CopyStep
  | VerifyStep
  | PositionStep
  | GrantsStep
  | RenameSequenceStep;

/**
 * Plan to recreate a table, as plain data: it can be stored as JSON and executed by another
 * process.
 */
export interface RecreationPlan {
  /** Schema of the table. */
  schema?: string;
  /** Name of the table. */
  table: string;
  /** Current table. */
  current: TableSchema;
  /** Desired table. */
  desired: TableSchema;
  /** Estimated number of rows. */
  rows: number;
  /** Estimated number of batches. */
  batches: number;
  /** Steps in order; empty if there is nothing to do. */
  steps: RecreationStep[];
  /** Mapping of the rows. */
  copy: RecreationCopy;
  /** Warnings, one sentence each. */
  warnings: string[];
}
