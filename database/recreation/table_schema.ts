/** How a column numbers its rows. */
export interface TableIdentity {
  /** `ALWAYS` instead of `BY DEFAULT`. */
  always: boolean;
  /** What stands in the parentheses after IDENTITY; empty for none. */
  options: string;
  /** A change: the name that its sequence is to have. */
  name?: string;
  /** The sequence that has the position, when the column was read from a database. */
  sequence?: { schema: string; name: string; increment: string; grants?: TableGrant[] };
}

/** A column. */
export interface TableColumn {
  /** Its name as the catalog has it, without quotes. */
  name: string;
  /** Its type as `format_type` writes it. */
  type: string;
  /** Whether it refuses NULL. */
  notNull: boolean;
  /** The name of the constraint that says so, from PostgreSQL 18 on. */
  notNullName?: string;
  /** Its default as SQL. */
  default?: string;
  /** Given when it numbers the rows. */
  identity?: TableIdentity;
  /** Given when it is computed from other columns. */
  generated?: { expression: string; stored: boolean };
  /** Its collation as SQL, when it is not its type's. */
  collation?: string;
  /** Its comment. */
  comment?: string;
  /** Settings that ALTER COLUMN sets: `SET STATISTICS 500`. */
  settings?: string[];
  /** A change: the column of the table as it is whose values it takes, when that has another name. */
  source?: string;
  /** A change: the values as SQL over the columns of the table as it is. */
  using?: string;
  /** A change: the column is new and takes no values, whatever had its name before. */
  added?: boolean;
}

/** What a constraint says. */
export type TableConstraintType = "primary_key" | "unique" | "check" | "foreign_key" | "exclude";

/** A constraint of a table. */
export interface TableConstraint {
  /** Its name. */
  name: string;
  /** What it says. */
  type: TableConstraintType;
  /** The columns that it is about, as far as the catalog names them. */
  columns: string[];
  /** What follows its name, without NOT VALID: `CHECK ((price > 0))`. */
  definition: string;
  /** Whether the rows that are there were checked. */
  validated: boolean;
  /** `foreign_key`: what it points to. */
  references?: {
    schema?: string;
    table: string;
    columns: string[];
    /** The name of the key that it depends on, when several keys have these columns. */
    index?: string;
  };
  /** Its comment. */
  comment?: string;
}

/** An index that belongs to no constraint. */
export interface TableIndex {
  /** Its name. */
  name: string;
  /** Whether it refuses duplicates. */
  unique: boolean;
  /** What follows the table's name: `USING btree (title) WHERE (NOT archived)`. */
  definition: string;
  /** The columns that it uses anywhere. */
  columns: string[];
  /** Its keys when all are plain columns and it covers all rows. */
  keys?: string[];
  /** Whether queries may use it. */
  valid: boolean;
  /** Its comment. */
  comment?: string;
}

/** A privilege that a role has on a table, a column or a sequence. */
export interface TableGrant {
  /** The role; `null` for PUBLIC. */
  grantee: string | null;
  /** Such as `SELECT`. */
  privilege: string;
  /** Whether the role may pass it on. */
  grantable: boolean;
  /** The column, for a privilege on one. */
  column?: string;
}

/** A foreign key of another table that points to this one. */
export interface IncomingForeignKey extends TableConstraint {
  /** The table that has it. */
  from: { schema: string; table: string };
}

/** A sequence that is dropped with a column: that of `serial`. */
export interface OwnedSequence {
  /** Its schema. */
  schema: string;
  /** Its name. */
  name: string;
  /** The column. */
  column: string;
}

/**
 * A table as the catalog describes it. Plain data: it may be written down as JSON and read again.
 */
export interface TableSchema {
  /** The table's schema. */
  schema?: string;
  /** The table's name, without quotes. */
  name: string;
  /** The catalog's number of the table; it tells a table from another one that takes its name. */
  oid?: string;
  /**
   * Whose rules it lives under.
   * @default "postgres"
   */
  dialect?: "postgres" | "distsql";
  /** The role that owns it. */
  owner?: string;
  /** UNLOGGED. */
  unlogged?: boolean;
  /** Storage parameters: `fillfactor=70`. */
  options?: string[];
  /** Its comment. */
  comment?: string;
  /** Its columns, in their order. */
  columns: TableColumn[];
  /** Its constraints but NOT NULL. */
  constraints: TableConstraint[];
  /** Its indexes but those of its constraints. */
  indexes: TableIndex[];
  /** Who may do what with it. */
  grants?: TableGrant[];
  /** Foreign keys of other tables that point to it. */
  referencedBy?: IncomingForeignKey[];
  /** Sequences that would be dropped with it. */
  sequences?: OwnedSequence[];
  /** What would be lost with it and cannot be made again: views, triggers, policies and the like, in words. */
  dependents?: string[];
}
