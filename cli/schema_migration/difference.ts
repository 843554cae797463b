import type { Catalog } from "./catalog.ts";
import type { Decisions } from "./decisions.ts";

/** The difference between two databases. */
export interface Difference {
  readonly steps: readonly Step[];
  /** Differences that need a decision, or a migration written by hand. */
  readonly problems: readonly string[];
  /** Objects that no schema module declares. They stay. */
  readonly kept: readonly string[];
}

/** Arguments of `compareCatalogs`. */
export interface Comparison {
  /** The database after the migrations. */
  readonly have: Catalog;
  /** The database of the schema modules. */
  readonly want: Catalog;
  /** The statements that create all of the schema. */
  readonly created: readonly string[];
  readonly decisions: Decisions;
}

/** A statement of a migration. */
export interface Step {
  readonly sql: string;
  /** What is lost, or when the statement fails; omitted if no data can be lost. */
  readonly risk?: string;
}

/** Renders a statement for a migration. What it may lose is in a comment. */
export function renderStep({ sql, risk }: Step): string {
  return risk === undefined ? `${sql};` : `-- Warning: ${risk}.\n${sql};`;
}
