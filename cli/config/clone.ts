/** Mask of a column in a clone. NULL stays NULL. */
export type Mask = "null" | "hash" | "email" | { readonly text: string };

/**
 * Options of a clone. They are stored with its progress, so that a resumed clone uses the same
 * options.
 */
export interface CloneOptions {
  /** Table names, with or without schema; empty selects all. */
  readonly tables: readonly string[];
  /** `schema` copies no rows; `data` copies rows into existing tables. */
  readonly mode: "all" | "schema" | "data";
  /** Target distsql: converts array columns to jsonb. */
  readonly arraysAsJsonb: boolean;
  /** Target distsql: the type of numeric columns without precision. */
  readonly numeric?: { readonly precision: number; readonly scale: number };
  /** Allows other tables in the target. */
  readonly beside: boolean;
  /** Copies sessions, verifications, passwords and tokens. */
  readonly credentials: boolean;
  /** Masked columns by `table.column` or `schema.table.column`. */
  readonly masks: Readonly<Record<string, Mask>>;
}
