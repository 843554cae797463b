import type { ColumnSync } from "../../distsql/batches/column_sync.ts";
import type { Catalog } from "./catalog.ts";
import type { Decisions } from "./decisions.ts";

/** The difference between two databases. */
export interface Difference {
  readonly steps: readonly Step[];
  /** Differences that need a decision, or a migration written by hand. */
  readonly problems: readonly string[];
  /** Objects that no schema module declares. They stay. */
  readonly kept: readonly string[];
  /** Columns that triggers keep equal until one of them is dropped. */
  readonly open: readonly string[];
}

/** Difference of a part of two databases. */
export type PartialDifference = Omit<Difference, "open">;

/** Columns that triggers keep equal, with what depends on the old one. */
export interface OpenExpand extends ColumnSync {
  /** Names of the constraints and indexes of the old column. */
  readonly rules: ReadonlySet<string>;
}

/** Arguments of `compareCatalogs`. */
export interface Comparison {
  /** The database after the migrations. */
  readonly have: Catalog;
  /** The database of the schema modules. */
  readonly want: Catalog;
  /** The statements that create all of the schema. */
  readonly created: readonly string[];
  /** Indexes that are built without blocking writes, as `table:index`. */
  readonly concurrent: ReadonlySet<string>;
  readonly decisions: Decisions;
  /** True if other modules declare more tables. */
  readonly isPartial: boolean;
  /**
   * Columns of the present database that triggers keep equal.
   * @default []
   */
  readonly expands?: readonly OpenExpand[];
}

/** A statement of a migration. */
export interface Step {
  readonly sql: string;
  /** What is lost, or when the statement fails; omitted if no data can be lost. */
  readonly risk?: string;
  /** True if the statement cannot run in one transaction with others. */
  readonly runsAlone?: boolean;
  /** True for a statement that fills a new column in batches, after all columns are added. */
  readonly isBackfill?: boolean;
  /** What runs instead, if PostgreSQL refuses the statement. */
  readonly fallback?: Step;
}

/**
 * Groups consecutive statements by files, because a file is one transaction or none: a failure
 * between two statements would be seen by others.
 */
export function groupSteps(steps: readonly Step[]): Step[][] {
  const groups: Step[][] = [];
  for (const step of steps) {
    const last = groups.at(-1);
    if (last !== undefined && last[0].runsAlone === step.runsAlone) last.push(step);
    else groups.push([step]);
  }
  return groups;
}

/** The first line of a generated migration, without `--`. */
export const GENERATED_HEAD = "Written by trellis generate migration. Read it before you apply it.";

/** The beginning of the comment before a statement that can lose data or fail. */
export const RISK_COMMENT = "-- Warning: ";

/** Renders a statement for a migration. What it may lose is in a comment. */
export function renderStep({ sql, risk }: Step): string {
  return risk === undefined ? `${sql};` : `${RISK_COMMENT}${risk}.\n${sql};`;
}

/** What statements of a kind lose, or when they fail. */
export const RISKS = {
  table: "drops the table with its rows",
  schema: "drops the schema with its tables",
  dependents: "drops everything that depends on it",
  column: "drops the column with its data",
  rows: "deletes rows",
  block: "runs a block that drops or deletes",
  type: "changes the type: values that do not fit are rounded, cut or refused",
  unique: "fails if two rows have the same values",
  check: "fails if a row does not satisfy the condition",
  exclusion: "fails if two rows conflict",
  primaryKey: "fails if two rows have the same values, or a row has none",
  foreignKey: "fails if a row references a row that does not exist",
  required: "fails if a row has no value in the column. Fill it first: " +
    "UPDATE … SET … WHERE … IS NULL",
  added:
    "fails if the table has rows, because the column has no default. Declare a default, or add " +
    "the column without NOT NULL, fill it, and set NOT NULL in a later migration",
} as const;
