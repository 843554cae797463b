import type { InferSelectModel } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";

/** Columns of a table's primary key, as far as drizzle's types name them; else any of its columns. */
export type RowKey<TTable extends PgTable> = [PrimaryColumn<TTable>] extends [never]
  ? Partial<InferSelectModel<TTable>>
  : { [TName in PrimaryColumn<TTable>]: TTable["_"]["columns"][TName]["_"]["data"] };

/** Name of a column that alone is the primary key. */
export type PrimaryColumn<TTable extends PgTable> = {
  [TName in keyof TTable["_"]["columns"] & string]: TTable["_"]["columns"][TName]["_"] extends
    { isPrimaryKey: true } ? TName
    : never;
}[keyof TTable["_"]["columns"] & string];

/** Facts about a change. */
export interface ChangeFacts<TTable extends PgTable> {
  /** The primary key. */
  readonly key: RowKey<TTable>;
  /** Time of the COMMIT. */
  readonly committedAt: Date;
  /**
   * Time of the COMMIT in nanoseconds since 1970: later changes of a row have a larger one. Pass it
   * on to stores that compare versions.
   */
  readonly position: bigint;
  /** Transaction: its changes have the same id. */
  readonly transactionId: string;
}

/** Inserted row. */
export interface InsertedRow<TTable extends PgTable> extends ChangeFacts<TTable> {
  /** The row did not exist before the transaction. */
  readonly operation: "insert";
  /** There was no row. */
  readonly before: null;
  /** The row. */
  readonly after: InferSelectModel<TTable>;
}

/** Updated row. */
export interface UpdatedRow<TTable extends PgTable> extends ChangeFacts<TTable> {
  /** The row existed before the transaction. */
  readonly operation: "update";
  /** The stream does not have the row before an update. */
  readonly before: null;
  /** The whole row after the update. */
  readonly after: InferSelectModel<TTable>;
}

/** Deleted row. */
export interface DeletedRow<TTable extends PgTable> extends ChangeFacts<TTable> {
  /** The row does not exist after the transaction. */
  readonly operation: "delete";
  /** The primary key: the stream has no more of a deleted row. */
  readonly before: RowKey<TTable>;
  /** There is no row. */
  readonly after: null;
}

/** Committed change of a row: the net effect of one transaction. */
export type Change<TTable extends PgTable> =
  | InsertedRow<TTable>
  | UpdatedRow<TTable>
  | DeletedRow<TTable>;
