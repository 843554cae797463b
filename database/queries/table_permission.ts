/** Operations on a table; the values are PostgreSQL's privilege names. */
export enum DatabaseOperation {
  /** Read rows. */
  Select = "SELECT",
  /** Add rows. */
  Insert = "INSERT",
  /** Change rows. */
  Update = "UPDATE",
  /** Remove rows. */
  Delete = "DELETE",
  /** All operations. */
  All = "ALL",
}

/** An operation where one is declared: a member of the enum, or its value such as `"SELECT"`. */
export type TableOperation = DatabaseOperation | `${DatabaseOperation}`;

/** Operations on one table, from which a function's database grants are generated. */
export interface TablePermission {
  /** The table's name in the database. */
  table: string;
  /** Operations on the table. */
  operations: DatabaseOperation[];
}
