import { DistSqlAction, DistSqlCategory, type DistSqlIncompatibility } from "./incompatibility.ts";
import { inCategory } from "./in_category.ts";

const { DML } = DistSqlCategory;
const { AppLayer, Error, Rewrite, Strip, Warn } = DistSqlAction;

/** Entries about queries and changes of rows. */
export const QUERY_ENTRIES: readonly DistSqlIncompatibility[] = inCategory(DML, [
  {
    id: "truncate",
    action: Rewrite,
    title: "TRUNCATE",
    advice:
      "Written as DELETE, in batches over 3,000 rows, referencing tables first. Rejected if " +
      "a table outside of the list references one of them.",
    message: "unsupported statement: Truncate",
    source: ["EMU"],
  },
  {
    id: "truncate-options",
    action: Error,
    title: "TRUNCATE with RESTART IDENTITY or CASCADE",
    advice: "Write DELETE FROM for each table, referencing tables first, and ALTER TABLE … ALTER " +
      "COLUMN … RESTART.",
    message: "unsupported statement: Truncate",
    source: ["EMU"],
  },
  {
    id: "whole-table-change",
    action: Warn,
    title: "UPDATE or DELETE of a whole table",
    advice: "A transaction can change 3,000 rows and 10 MiB: migrations run larger changes in " +
      "batches.",
    sqlState: "54000",
    message: "transaction row limit exceeded",
    source: ["EMU", "FKD"],
  },
  {
    id: "unbatchable-change",
    action: Error,
    title: "an UPDATE or DELETE of 3,000 rows or more that cannot be split into batches",
    advice: "Join a helper table with the new values, or split the change.",
    sqlState: "54000",
    message: "transaction row limit exceeded",
    source: ["EMU", "FKD"],
  },
  {
    id: "merge",
    action: Error,
    title: "MERGE",
    advice: "Use INSERT … ON CONFLICT.",
    message: "unsupported statement type: MERGE",
    source: ["EMU"],
  },
  {
    id: "tablesample",
    action: Error,
    title: "TABLESAMPLE",
    advice: "Select rows by a range of the key.",
    message: "TABLESAMPLE clause not supported",
    source: ["EMU"],
  },
  {
    id: "group-by-all",
    action: Error,
    title: "GROUP BY ALL",
    advice: "List the columns: documented, but rejected by clusters.",
    sqlState: "42601",
    source: ["EMU"],
  },
  {
    id: "row-lock-strength",
    action: Error,
    title: "FOR SHARE and FOR NO KEY UPDATE",
    advice: "Use FOR KEY SHARE or FOR UPDATE.",
    message: "locking clauses other than FOR UPDATE/FOR KEY SHARE are not supported",
    source: ["EMU"],
  },
  {
    id: "for-key-share",
    action: Error,
    title: "FOR KEY SHARE",
    advice: "Use FOR UPDATE.",
    until: "2026-08-24",
    sqlState: "0A000",
    source: ["REL"],
  },
  {
    id: "skip-locked",
    action: Warn,
    title: "SKIP LOCKED",
    advice: "There are no locks: two workers read the same row, and one fails at COMMIT.",
    source: ["EMU", "PROBE"],
  },
  {
    id: "text-search",
    action: AppLayer,
    title: "Full text search in a language, or without a configuration (which means english)",
    advice: "Only the configuration `simple` exists: write to_tsvector('simple', …), or search " +
      "outside of the database.",
    sqlState: "42704",
    message: 'text search configuration "english" does not exist',
    source: ["EMU"],
  },
  {
    id: "copy",
    action: Error,
    title: "COPY with a file or a program, and COPY with inline rows",
    advice: "Use INSERT in batches (pg_dump --inserts), or COPY over STDIN and STDOUT.",
    sqlState: "0A000",
    source: ["LINT"],
  },
  {
    id: "empty-statement",
    action: Strip,
    title: "Empty statements",
    advice: "Omitted.",
    source: ["EMU"],
    evidence: "inferred",
  },
]);
