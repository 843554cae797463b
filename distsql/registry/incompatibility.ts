import type { DIST_SQL_SOURCES, IsoDay } from "./capabilities.ts";

/** Part of PostgreSQL that an entry of the registry is about. */
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

/** Treatment of a registry entry by the translation. */
export enum DistSqlAction {
  /** Accepted unchanged, with a note. */
  Compatible = "Compatible",
  /** Rewritten with the same effect. */
  Rewrite = "Rewrite",
  /** Omitted, with a warning if that removes a protection of data. */
  Strip = "Strip",
  /** The table must be recreated: new table, copy, rename. */
  Recreate = "Recreate",
  /** Rejected, with advice. */
  Error = "Error",
  /** Accepted, but it behaves differently. */
  Warn = "Warn",
  /** The application must do it instead. */
  AppLayer = "AppLayer",
}

/** Kind of evidence: observed on a cluster, documented, tested by a tool of AWS, or inferred. */
export type DistSqlEvidence = "live" | "documented" | "tool" | "inferred";

/** Difference between PostgreSQL and the distributed-SQL provider. */
export interface DistSqlIncompatibility {
  /** Stable name, in kebab-case. */
  readonly id: string;
  /** Part of PostgreSQL. */
  readonly category: DistSqlCategory;
  /** Treatment by the translation. */
  readonly action: DistSqlAction;
  /** The PostgreSQL feature. */
  readonly title: string;
  /** Advice or description of the treatment. */
  readonly advice: string;
  /** First day on which the entry applies; omitted if it always did. */
  readonly since?: IsoDay;
  /** Last day on which the entry applies; omitted if it still does. */
  readonly until?: IsoDay;
  /** SQLSTATE of the provider's error. */
  readonly sqlState?: string;
  /** Text of the provider's error. */
  readonly message?: string;
  /** Keys of {@link DIST_SQL_SOURCES}. */
  readonly source: readonly (keyof typeof DIST_SQL_SOURCES)[];
  /** Kind of evidence. */
  readonly evidence: DistSqlEvidence;
}
