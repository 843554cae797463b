/** Identity of a column. */
export interface TableIdentity {
  /** `ALWAYS` instead of `BY DEFAULT`. */
  always: boolean;
  /** Text in the parentheses after IDENTITY; empty if there are none. */
  options: string;
  /** Change: new name of its sequence. */
  name?: string;
  /** Sequence with the current position, if the column was read from a database. */
  sequence?: { schema: string; name: string; increment: string; grants?: TableGrant[] };
}

/** Column of a table. */
export interface TableColumn {
  /** Name in the catalog, without quotes. */
  name: string;
  /** Type in the spelling of `format_type`. */
  type: string;
  /** True if NULL is not allowed. */
  notNull: boolean;
  /** Name of the NOT NULL constraint, since PostgreSQL 18. */
  notNullName?: string;
  /** Default as SQL. */
  default?: string;
  /** Set for an identity column. */
  identity?: TableIdentity;
  /** Set for a generated column. */
  generated?: { expression: string; stored: boolean };
  /** Collation as SQL, if it is not the type's default. */
  collation?: string;
  /** Comment on the column. */
  comment?: string;
  /** Settings of ALTER COLUMN: `SET STATISTICS 500`. */
  settings?: string[];
  /** Change: source column in the current table, if it has another name. */
  source?: string;
  /** Change: expression over the columns of the current table. */
  using?: string;
  /** Change: true for a new column without values, even if another column had its name before. */
  added?: boolean;
}

/** Type of a constraint. */
export type TableConstraintType = "primary_key" | "unique" | "check" | "foreign_key" | "exclude";

/** Constraint of a table. */
export interface TableConstraint {
  /** Its name. */
  name: string;
  /** Type of the constraint. */
  type: TableConstraintType;
  /** Columns of the constraint, as far as the catalog lists them. */
  columns: string[];
  /** Columns of INCLUDE, if the constraint was read from SQL and has them. */
  included?: string[];
  /** Definition after the name, without NOT VALID: `CHECK ((price > 0))`. */
  definition: string;
  /** True if existing rows were validated. */
  validated: boolean;
  /** `foreign_key`: referenced table and columns. */
  references?: {
    schema?: string;
    table: string;
    columns: string[];
    /** Name of the key that it depends on, if several keys have these columns. */
    index?: string;
  };
  /** Comment on the constraint. */
  comment?: string;
}

/** Index that belongs to no constraint. */
export interface TableIndex {
  /** Its name. */
  name: string;
  /** True for a unique index. */
  unique: boolean;
  /** Definition after the table's name: `USING btree (title) WHERE (NOT archived)`. */
  definition: string;
  /** All columns that it uses. */
  columns: string[];
  /** Key columns, if all are plain columns and it covers all rows. */
  keys?: string[];
  /** True if queries can use it. */
  valid: boolean;
  /** Comment on the index. */
  comment?: string;
}

/** Privilege of a role on a table, a column or a sequence. */
export interface TableGrant {
  /** Role; `null` for PUBLIC. */
  grantee: string | null;
  /** Privilege, such as `SELECT`. */
  privilege: string;
  /** True if granted WITH GRANT OPTION. */
  grantable: boolean;
  /** Column, for a column privilege. */
  column?: string;
}

/** Foreign key of another table that references this one. */
export interface IncomingForeignKey extends TableConstraint {
  /** Referencing table. */
  from: { schema: string; table: string };
}

/** Sequence that is dropped with a column, such as that of `serial`. */
export interface OwnedSequence {
  /** Schema of the sequence. */
  schema: string;
  /** Name of the sequence. */
  name: string;
  /** Column that owns it. */
  column: string;
}

/** Table as described by the catalog. Plain data that can be stored as JSON. */
export interface TableSchema {
  /** Schema of the table. */
  schema?: string;
  /** Name of the table, without quotes. */
  name: string;
  /** Oid of the table, which distinguishes it from a later table of the same name. */
  oid?: string;
  /**
   * Dialect of its server.
   * @default "postgres"
   */
  dialect?: "postgres" | "distsql";
  /** Owner of the table. */
  owner?: string;
  /** True for an UNLOGGED table. */
  unlogged?: boolean;
  /** Storage parameters: `fillfactor=70`. */
  options?: string[];
  /** Comment on the table. */
  comment?: string;
  /** Columns, in order. */
  columns: TableColumn[];
  /** Constraints except NOT NULL. */
  constraints: TableConstraint[];
  /** Indexes except those of constraints. */
  indexes: TableIndex[];
  /** Privileges on the table. */
  grants?: TableGrant[];
  /** Foreign keys of other tables that reference it. */
  referencedBy?: IncomingForeignKey[];
  /** Sequences that would be dropped with it. */
  sequences?: OwnedSequence[];
  /**
   * Dependent objects that would be lost and cannot be recreated, such as views, triggers and
   * policies, as descriptions.
   */
  dependents?: string[];
}
