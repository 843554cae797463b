import { DistSqlAction, DistSqlCategory, type DistSqlIncompatibility } from "./incompatibility.ts";
import { inCategory } from "./in_category.ts";

const { DDL } = DistSqlCategory;
const { Error, Recreate, Rewrite, Strip, Warn } = DistSqlAction;

/** Entries about changes of columns and other settings of a table. */
export const ALTER_ENTRIES: readonly DistSqlIncompatibility[] = inCategory(DDL, [
  {
    id: "add-column-constraint",
    action: Recreate,
    title: "ADD COLUMN with DEFAULT, NOT NULL, CHECK, UNIQUE or REFERENCES",
    advice: "Made in steps: column, default, rows in batches, constraints as NOT VALID and " +
      "validated. NOT NULL without a default fails for a table with rows: declare one, or " +
      "set NOT NULL in a later migration. A volatile default gives each row a different " +
      "value.",
    message: "ALTER TABLE ADD COLUMN with constraint not supported",
    source: ["EMU"],
  },
  {
    id: "add-column-null",
    action: Rewrite,
    title: "ADD COLUMN with NULL, DEFAULT NULL or COMPRESSION",
    advice: "Omitted: it has no effect.",
    message: "ALTER TABLE ADD COLUMN with constraint not supported",
    source: ["EMU"],
    evidence: "inferred",
  },
  {
    id: "add-column-recreate",
    action: Recreate,
    title: "ADD COLUMN with PRIMARY KEY, GENERATED or IDENTITY",
    advice: "The table is recreated with the column.",
    message: "ALTER TABLE ADD COLUMN with constraint not supported",
    source: ["EMU"],
  },
  {
    id: "add-column-recreate-before-steps",
    action: Recreate,
    title: "ADD COLUMN with DEFAULT, NOT NULL or CHECK",
    advice: "The table is recreated with the column.",
    until: "2026-08-02",
    message: "ALTER TABLE ADD COLUMN with constraint not supported",
    source: ["REL"],
  },
  {
    id: "set-not-null",
    action: Recreate,
    title: "SET NOT NULL",
    advice:
      "Becomes a validated CHECK (column IS NOT NULL); pg_attribute.attnotnull stays false. " +
      "Fails if a row has no value: fill the column first. runMigrations writes (column IS " +
      "NOT NULL) IS TRUE, to tell it from your CHECKs.",
    since: "2026-08-03",
    message: "unsupported ALTER TABLE ALTER COLUMN ... SET NOT NULL statement",
    source: ["DSB", "PROBE"],
  },
  {
    id: "set-not-null-recreate",
    action: Recreate,
    title: "SET NOT NULL",
    advice: "The table is recreated.",
    until: "2026-08-02",
    message: "unsupported ALTER TABLE ALTER COLUMN ... SET NOT NULL statement",
    source: ["REL"],
  },
  {
    id: "drop-not-null",
    action: Warn,
    title: "DROP NOT NULL",
    advice: "Runs as written. runMigrations also drops the CHECK that replaces NOT NULL " +
      "(table_column_not_null); elsewhere drop it.",
    since: "2026-07-20",
    source: ["LINT", "AT"],
    evidence: "live",
  },
  {
    id: "alter-column-recreate",
    action: Recreate,
    title: "DROP NOT NULL, SET DEFAULT, DROP DEFAULT",
    advice: "The table is recreated.",
    until: "2026-07-19",
    sqlState: "0A000",
    source: ["LINT"],
  },
  {
    id: "alter-column-type",
    action: Recreate,
    title: "ALTER COLUMN TYPE, SET EXPRESSION",
    advice: "The table is recreated. Or add a column, copy the values in batches, drop the old " +
      "column and rename the new one.",
    message: "unsupported ALTER TABLE ALTER COLUMN ... SET DATA TYPE statement",
    source: ["EMU"],
  },
  {
    id: "recreate-view",
    action: Error,
    title: "A change that recreates the table while a view reads it",
    advice: "Write DROP VIEW before and CREATE VIEW after it.",
    source: ["EMU"],
    evidence: "inferred",
  },
  {
    id: "drop-column",
    action: Warn,
    title: "DROP COLUMN",
    advice: "Its indexes are dropped too. A column of the primary key cannot be dropped.",
    since: "2026-08-03",
    source: ["EMU", "REL"],
  },
  {
    id: "drop-column-recreate",
    action: Recreate,
    title: "DROP COLUMN",
    advice: "The table is recreated without the column.",
    until: "2026-08-02",
    sqlState: "0A000",
    source: ["REL"],
  },
  {
    id: "table-settings",
    action: Strip,
    title: "SET STATISTICS, SET COMPRESSION, REPLICA IDENTITY, CLUSTER " +
      "ON, storage settings, rules and named triggers",
    advice: "Omitted: the provider controls it.",
    sqlState: "0A000",
    source: ["PROBE"],
  },
  {
    id: "row-security",
    action: Error,
    title:
      "ROW LEVEL SECURITY, CREATE and ALTER POLICY, and security options of a view by ALTER TABLE",
    advice: "Filter in the application, or in views with their own grants. The option " +
      "`dropRowSecurity` omits the policies.",
    message: "unsupported ALTER TABLE ENABLE ROW SECURITY",
    source: ["PROBE", "LINT"],
  },
  {
    id: "row-security-dropped",
    action: Strip,
    title:
      "ROW LEVEL SECURITY, with the option `dropRowSecurity`; DISABLE, NO FORCE and DROP POLICY",
    advice: "Omitted: protect the rows in another way.",
    sqlState: "0A000",
    source: ["PROBE", "LINT"],
  },
  {
    id: "table-inheritance",
    action: Error,
    title: "INHERIT, ATTACH PARTITION and similar",
    advice: "Use a plain table.",
    sqlState: "0A000",
    source: ["LINT"],
  },
]);
