/** How a clone replaces the values of a column. NULL stays NULL. */
export type Mask = "null" | "hash" | "email" | { readonly text: string };

/** What a clone is asked to do. Kept with its progress, so that the same is done when it goes on. */
export interface CloneOptions {
  /** Names of tables, with or without their schema; all when empty. */
  readonly tables: readonly string[];
  /** `schema`: no rows. `data`: rows into tables that are there. */
  readonly mode: "all" | "schema" | "data";
  /** Target distsql: columns with arrays become jsonb. */
  readonly arraysAsJsonb: boolean;
  /** Target distsql: what numeric without a precision becomes. */
  readonly numeric?: { readonly precision: number; readonly scale: number };
  /** The target may have other tables. */
  readonly beside: boolean;
  /** Copies sessions, verifications, passwords and tokens as they are. */
  readonly credentials: boolean;
  /** Columns whose values are replaced, by `table.column` or `schema.table.column`. */
  readonly masks: Readonly<Record<string, Mask>>;
}
