import type { TableGrant, TableSchema } from "./table_schema.ts";

/**
 * When a step runs: while the table is in use (`before`), while nothing has its name (`frozen`), or when the new one has
 * taken it (`after`).
 */
export type RecreationPhase = "before" | "frozen" | "after";

/** Columns to go along, in their order. */
export interface CopyKey {
  /** The column. */
  name: string;
  /** Its type. */
  type: string;
  /** Whether it may be NULL; such rows are looked for on their own. */
  nullable: boolean;
}

/** What a column of the copy takes. */
export interface CopiedColumn {
  /** The column of the new table. */
  name: string;
  /** SQL over the columns of the table as it is. */
  expression: string;
  /** Its type in the new table. */
  type: string;
  /** Whether the type or the value changes on the way. */
  changes: boolean;
  /** Whether it has a collation of its own. */
  collates: boolean;
}

/** How rows get from the table as it is to the new one. */
export interface RecreationCopy {
  /** The table as it is, quoted. */
  source: string;
  /** The same after it was renamed away. */
  frozen: string;
  /** The new one before it takes the name. */
  target: string;
  /** The columns with values of the old table. */
  columns: CopiedColumn[];
  /** What to go along in the old table; empty for one statement that copies all. */
  key: CopyKey[];
  /** What to go along in the new table when it is counted; empty for one statement that reads all. */
  targetKey: CopyKey[];
  /** Whether values go into an identity column that numbers rows by itself. */
  overriding: boolean;
}

/** One statement. */
export interface StatementStep {
  /** When it runs. */
  phase: RecreationPhase;
  /** What it does, for the log. */
  title: string;
  /** What kind of step it is. */
  kind: "statement";
  /** The statement. */
  sql: string;
  /** A query whose one row says in `done` whether the statement's work is there already; left out when it may be repeated. */
  done?: string;
  /** The background job that it starts on the distributed-SQL provider. */
  job?: { kind: "index" | "constraint"; name: string; table: string };
  /** Of an index: what takes away the rest of a build that failed. */
  undo?: { index: string; sql: string };
}

/** Copies rows in batches. */
export interface CopyStep {
  /** When it runs. */
  phase: RecreationPhase;
  /** What it does, for the log. */
  title: string;
  /** What kind of step it is. */
  kind: "copy";
}

/** Counts and compares the rows of both tables. */
export interface VerifyStep {
  /** When it runs. */
  phase: RecreationPhase;
  /** What it does, for the log. */
  title: string;
  /** What kind of step it is. */
  kind: "verify";
}

/** Sets the position of an identity column. */
export interface PositionStep {
  /** When it runs. */
  phase: RecreationPhase;
  /** What it does, for the log. */
  title: string;
  /** What kind of step it is. */
  kind: "position";
  /** The column of the new table. */
  column: string;
  /** The sequence of the old one; left out when it had none. */
  sequence?: { schema: string; name: string; increment: string };
}

/** Gives a relation the grants that the old one has, and no others. */
export interface GrantsStep {
  /** When it runs. */
  phase: RecreationPhase;
  /** What it does, for the log. */
  title: string;
  /** What kind of step it is. */
  kind: "grants";
  /** The table. */
  table: string;
  /** Given for the grants of a column's sequence. */
  column?: string;
  /** The grants. */
  grants: TableGrant[];
}

/** Gives the sequence of an identity column its name. */
export interface RenameSequenceStep {
  /** When it runs. */
  phase: RecreationPhase;
  /** What it does, for the log. */
  title: string;
  /** What kind of step it is. */
  kind: "rename_sequence";
  /** The column. */
  column: string;
  /** The name. */
  name: string;
}

/** One step of a {@link RecreationPlan}. */
export type RecreationStep =
  | StatementStep
  | CopyStep
  | VerifyStep
  | PositionStep
  | GrantsStep
  | RenameSequenceStep;

/**
 * What it takes to make a table again, as plain data: it may be written down as JSON, read again and executed by another
 * process.
 */
export interface RecreationPlan {
  /** The table's schema. */
  schema?: string;
  /** The table. */
  table: string;
  /** The table as it is. */
  current: TableSchema;
  /** The table as it is to be. */
  desired: TableSchema;
  /** About how many rows it has. */
  rows: number;
  /** About how many batches the copy takes. */
  batches: number;
  /** What is done, in order; empty when nothing has to be done. */
  steps: RecreationStep[];
  /** How the rows get across. */
  copy: RecreationCopy;
  /** What to know before running it, one sentence each. */
  warnings: string[];
}
