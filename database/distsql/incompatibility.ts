import type { DIST_SQL_SOURCES, IsoDay } from "./capabilities.ts";

/** What part of PostgreSQL an entry of the registry is about. */
export enum DistSqlCategory {
  /** Tables, columns, constraints and other objects. */
  DDL = "DDL",
  /** Queries and changes of rows. */
  DML = "DML",
  /** Column types. */
  DataType = "DataType",
  /** Roles and grants. */
  Permission = "Permission",
  /** Indexes. */
  Index = "Index",
  /** Transactions and their limits. */
  Transaction = "Transaction",
  /** Catalogs and background jobs. */
  SystemCatalog = "SystemCatalog",
  /** Sessions and their settings. */
  Connection = "Connection",
  /** Functions, procedures, triggers, extensions. */
  Function = "Function",
}

/** What the translation does about an entry of the registry. */
export enum DistSqlAction {
  /** Accepted as it is; worth knowing. */
  Compatible = "Compatible",
  /** Written another way that reaches the same end. */
  Rewrite = "Rewrite",
  /** Left out: nothing that protects data goes with it unless a warning says so. */
  Strip = "Strip",
  /** The table has to be made again: new table, copy, rename. */
  Recreate = "Recreate",
  /** Refused, with advice. */
  Error = "Error",
  /** Accepted, but it behaves differently. */
  Warn = "Warn",
  /** The application has to do it. */
  AppLayer = "AppLayer",
}

/** How a fact is known: seen on a cluster, documented, tested by a tool of AWS, or concluded. */
export type DistSqlEvidence = "live" | "documented" | "tool" | "inferred";

/** A difference between PostgreSQL and the distributed-SQL provider. */
export interface DistSqlIncompatibility {
  /** Stable name, in kebab-case. */
  readonly id: string;
  /** What it is about. */
  readonly category: DistSqlCategory;
  /** What the translation does. */
  readonly action: DistSqlAction;
  /** The PostgreSQL feature. */
  readonly title: string;
  /** What to do, or what is done. */
  readonly advice: string;
  /** First day on which the entry holds; from the beginning when left out. */
  readonly since?: IsoDay;
  /** Last day on which the entry holds; still today when left out. */
  readonly until?: IsoDay;
  /** SQLSTATE of the provider's refusal. */
  readonly sqlState?: string;
  /** Text of the provider's refusal. */
  readonly message?: string;
  /** Keys of {@link DIST_SQL_SOURCES}. */
  readonly source: readonly (keyof typeof DIST_SQL_SOURCES)[];
  /** How sure it is. */
  readonly evidence: DistSqlEvidence;
}
