import { DistSqlAction, DistSqlCategory, type DistSqlIncompatibility } from "./incompatibility.ts";
import { inCategory } from "./in_category.ts";

const { DDL } = DistSqlCategory;
const { Compatible, Error, Recreate, Rewrite, Strip, Warn } = DistSqlAction;

/** Entries about tables, columns and constraints. */
export const TABLE_ENTRIES: readonly DistSqlIncompatibility[] = inCategory(DDL, [
  {
    id: "foreign-key",
    action: Compatible,
    title: "Foreign keys in CREATE TABLE",
    advice: "Kept. The referencing columns get no index: create one.",
    since: "2026-08-26",
    source: ["FKD", "EMU"],
  },
  {
    id: "foreign-key-dropped",
    action: Strip,
    title: "Foreign keys",
    advice: "Omitted, with a warning: check in the application (assertRowExists) and add the " +
      "constraint later.",
    until: "2026-08-25",
    sqlState: "0A000",
    source: ["REL"],
  },
  {
    id: "add-constraint-not-valid",
    action: Rewrite,
    title: "ADD CONSTRAINT CHECK or FOREIGN KEY on an existing table",
    advice: "Added as NOT VALID, which new rows obey at once, then ALTER TABLE ASYNC … VALIDATE " +
      "CONSTRAINT: wait for the job, then check pg_constraint.convalidated.",
    since: "2026-08-03",
    message: "unsupported ALTER TABLE ADD CONSTRAINT statement",
    source: ["EMU", "FKD"],
  },
  {
    id: "add-constraint-recreate",
    action: Recreate,
    title: "ADD CONSTRAINT CHECK on an existing table",
    advice: "The table is recreated with the constraint.",
    until: "2026-08-02",
    message: "unsupported ALTER TABLE ADD CONSTRAINT statement",
    source: ["REL"],
  },
  {
    id: "constraint-unvalidated",
    action: Warn,
    title: "Constraint added as NOT VALID",
    advice: "Kept as written: existing rows are not checked until VALIDATE CONSTRAINT.",
    source: ["EMU", "FKD"],
  },
  {
    id: "validate-constraint",
    action: Rewrite,
    title: "VALIDATE CONSTRAINT",
    advice: "Written as ALTER TABLE ASYNC: wait for the job, then check " +
      "pg_constraint.convalidated.",
    message: "unsupported ALTER TABLE VALIDATE CONSTRAINT statement",
    source: ["EMU"],
  },
  {
    id: "add-unique",
    action: Rewrite,
    title: "ADD CONSTRAINT UNIQUE on an existing table",
    advice: "A unique index is built, and becomes the constraint with UNIQUE USING INDEX once it " +
      "is valid (before that: SQLSTATE 55000).",
    message: "unsupported ALTER TABLE ADD CONSTRAINT statement",
    source: ["EMU", "AT"],
  },
  {
    id: "constraint-name",
    action: Warn,
    title: "Unnamed constraint that needs several steps",
    advice: "It gets a name by PostgreSQL's rule: name it explicitly.",
    source: ["EMU"],
    evidence: "inferred",
  },
  {
    id: "primary-key-change",
    action: Recreate,
    title: "ADD or DROP of a primary key",
    advice: "The table is recreated. In a migration that was never applied, put the key into " +
      "CREATE TABLE.",
    message: "unsupported ALTER TABLE ADD CONSTRAINT statement",
    source: ["EMU"],
  },
  {
    id: "primary-key-commented",
    action: Error,
    title: "DROP of a primary key that is only a comment, as drizzle-kit writes it",
    advice: "Write the statement with the key's name (usually the table's name and _pkey), and " +
      "delete the comment.",
    source: ["EMU"],
    evidence: "inferred",
  },
  {
    id: "primary-key-missing",
    action: Warn,
    title: "Table without a primary key",
    advice: "Accepted, but a primary key that is added later recreates the table.",
    source: ["CT", "LIM"],
    evidence: "documented",
  },
  {
    id: "constraint-deferrable",
    action: Rewrite,
    title: "DEFERRABLE on UNIQUE, PRIMARY KEY and CHECK",
    advice: "Omitted: the constraint is checked immediately. Foreign keys keep it.",
    message: "DEFERRABLE constraint not supported",
    source: ["PROBE"],
  },
  {
    id: "constraint-exclude",
    action: Error,
    title: "EXCLUDE constraints and WITHOUT OVERLAPS",
    advice: "Check it in the application, in a transaction with a row that both transactions " +
      "change.",
    sqlState: "0A000",
    source: ["LINT"],
  },
  {
    id: "constraint-storage",
    action: Rewrite,
    title: "WITH (…) and USING INDEX TABLESPACE of a constraint",
    advice: "Omitted: the provider manages storage.",
    sqlState: "0A000",
    source: ["LINT"],
  },
  {
    id: "constraint-not-enforced",
    action: Error,
    title: "NOT ENFORCED (PostgreSQL 18)",
    advice: "Remove the constraint, or enforce it.",
    sqlState: "42601",
    source: ["EMU"],
    evidence: "inferred",
  },
  {
    id: "newer-syntax",
    action: Rewrite,
    title: "Syntax of PostgreSQL 18 with an older equivalent: VIRTUAL columns, ENFORCED",
    advice: "A virtual generated column is written as STORED, ENFORCED is omitted: the provider " +
      "has the syntax of PostgreSQL 16.",
    sqlState: "42601",
    source: ["EMU"],
    evidence: "inferred",
  },
  {
    id: "create-table-temporary",
    action: Error,
    title: "Temporary tables, views and sequences",
    advice: "Use a common table expression, or a table with a key per run.",
    message: "TEMPORARY or TEMP table not supported for CREATE TABLE",
    source: ["EMU"],
  },
  {
    id: "create-table-unlogged",
    action: Rewrite,
    title: "UNLOGGED",
    advice: "Omitted: every table is durable.",
    message: "UNLOGGED table not supported for CREATE TABLE",
    source: ["EMU"],
  },
  {
    id: "create-table-partition",
    action: Error,
    title: "Partitions, inheritance, typed tables",
    advice: "Use a plain table: the provider distributes it by its primary key.",
    message: "PARTITION BY clause not supported",
    source: ["LINT", "LIM"],
  },
  {
    id: "create-table-storage",
    action: Rewrite,
    title: "TABLESPACE, WITH (…), USING, COMPRESSION and WITHOUT OIDS of a table",
    advice: "Omitted: the provider manages storage.",
    sqlState: "0A000",
    source: ["LINT"],
  },
  {
    id: "create-table-as",
    action: Error,
    title: "CREATE TABLE AS and SELECT INTO",
    advice: "Write CREATE TABLE, then INSERT … SELECT in batches below 3,000 rows.",
    message: "unsupported statement: CreateTableAs",
    source: ["EMU"],
  },
  {
    id: "table-columns",
    action: Warn,
    title: "More than 255 columns",
    advice: "A table can have 255 columns, and over its lifetime 1,600 with dropped ones.",
    sqlState: "54000",
    source: ["Q", "LIM"],
    evidence: "documented",
  },
]);
