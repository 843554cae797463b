/** What a function may do with a table; the values are PostgreSQL's privilege names. */
export enum DatabaseOperation {
  /** Read rows. */
  Select = "SELECT",
  /** Add rows. */
  Insert = "INSERT",
  /** Change rows. */
  Update = "UPDATE",
  /** Remove rows. */
  Delete = "DELETE",
  /** All of them. */
  All = "ALL",
}

/** A table and what is done with it: the source of a function's database grants. */
export interface TablePermission {
  /** The table's name in the database. */
  table: string;
  /** What is done with it. */
  operations: DatabaseOperation[];
}

/**
 * The comment before a GRANT or REVOKE of columns in a permission file that makes it one of whole tables on the distributed
 * provider, which is not known to grant columns.
 */
export const WHOLE_TABLE_COMMENT = "-- distsql: whole table";
