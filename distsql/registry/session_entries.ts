import { DistSqlAction, DistSqlCategory, type DistSqlIncompatibility } from "./incompatibility.ts";
import { inCategory } from "./in_category.ts";

const { Connection, SystemCatalog, Transaction } = DistSqlCategory;
const { AppLayer, Error, Rewrite, Strip, Warn } = DistSqlAction;

/** Entries about transactions, sessions and catalogs. */
export const SESSION_ENTRIES: readonly DistSqlIncompatibility[] = [
  ...inCategory(Transaction, [
    {
      id: "lock-table",
      action: Strip,
      title: "LOCK TABLE",
      advice: "Omitted: conflicts are reported at COMMIT as SQLSTATE 40001.",
      sqlState: "0A000",
      source: ["LINT"],
    },
    {
      id: "advisory-lock",
      action: AppLayer,
      title: "Advisory locks",
      advice: "Use a lease: a row with an owner, an expiry and a fence.",
      message: "function pg_advisory_lock not supported",
      source: ["LIM"],
    },
    {
      id: "savepoint",
      action: Error,
      title: "SAVEPOINT, RELEASE, ROLLBACK TO; nested transactions",
      advice: "Retry the whole transaction instead.",
      message: "unsupported transaction statement: SAVEPOINT",
      source: ["EMU"],
    },
    {
      id: "two-phase-commit",
      action: Error,
      title: "PREPARE TRANSACTION and similar",
      advice: "Use one transaction, or an outbox.",
      sqlState: "0A000",
      source: ["LINT"],
      evidence: "inferred",
    },
    {
      id: "isolation-level",
      action: Rewrite,
      title: "BEGIN with an isolation level",
      advice: "It is always REPEATABLE READ. Lock the rows that matter with FOR UPDATE.",
      message: "Unsupported isolation level: SERIALIZABLE",
      source: ["EMU"],
    },
    {
      id: "isolation-serializable",
      action: Error,
      title: "SERIALIZABLE and snapshots of other transactions, by SET TRANSACTION, SET SESSION " +
        "CHARACTERISTICS or a setting",
      advice:
        "The level is always REPEATABLE READ: lock the rows of a decision with SELECT … FOR " +
        "UPDATE, and remove this.",
      message: 'setting configuration parameter "TRANSACTION" not supported',
      source: ["EMU"],
    },
    {
      id: "set-constraints",
      action: Error,
      title: "SET CONSTRAINTS",
      advice: "Declare the foreign key as DEFERRABLE INITIALLY DEFERRED instead.",
      sqlState: "0A000",
      source: ["LINT"],
      evidence: "inferred",
    },
    {
      id: "set-transaction",
      action: Strip,
      title: "SET TRANSACTION, SET SESSION CHARACTERISTICS, SET " +
        "default_transaction_…, without SERIALIZABLE",
      advice:
        "Omitted: the level is REPEATABLE READ, stricter than READ COMMITTED. For a read-only " +
        "transaction write BEGIN READ ONLY.",
      message: 'setting configuration parameter "TRANSACTION" not supported',
      source: ["EMU"],
    },
    {
      id: "transaction-block",
      action: Rewrite,
      title: "BEGIN … COMMIT around statements of a migration",
      advice: "Omitted: each statement runs in a transaction of its own.",
      message: "multiple ddl statements not supported in a transaction",
      source: ["EMU"],
    },
    {
      id: "transaction-unpaired",
      action: Error,
      title: "BEGIN or COMMIT of a migration without its counterpart",
      advice: "Write both or neither: the runner begins and ends the transactions.",
      source: ["EMU"],
      evidence: "inferred",
    },
    {
      id: "transaction-rollback",
      action: Error,
      title: "ROLLBACK within a migration of several statements",
      advice: "Remove it and the statements that it rolls back.",
      source: ["EMU"],
      evidence: "inferred",
    },
    {
      id: "transaction-modes",
      action: Error,
      title: "BEGIN with an isolation level or READ ONLY, and COMMIT AND CHAIN, in a migration",
      advice: "Remove them: the runner uses the server's defaults.",
      source: ["EMU"],
      evidence: "inferred",
    },
    {
      id: "ddl-per-transaction",
      action: Warn,
      title: "Several DDL statements, or DDL and DML, in a transaction",
      advice: "Use one statement per transaction, also of those sent as one query.",
      message: "multiple ddl statements not supported in a transaction",
      source: ["EMU"],
    },
    {
      id: "transaction-limits",
      action: AppLayer,
      title: "Transactions over 3,000 rows, 10 MiB or 300 s",
      advice: "Split the work into batches.",
      sqlState: "54000",
      message: "transaction row limit exceeded",
      source: ["EMU", "LIM"],
    },
    {
      id: "optimistic-conflict",
      action: AppLayer,
      title: "Conflicts at COMMIT",
      advice: "Retry the whole transaction on SQLSTATE 40001 (withDistSqlRetry).",
      sqlState: "40001",
      message: "change conflicts with another transaction (OC000)",
      source: ["EMU", "CC"],
    },
  ]),
  ...inCategory(SystemCatalog, [
    {
      id: "maintenance",
      action: Strip,
      title: "VACUUM, CHECKPOINT, ANALYZE without a table",
      advice: "Omitted: the provider does it. ANALYZE of a table is kept.",
      message: "unsupported VACUUM statement",
      source: ["EMU"],
    },
    {
      id: "system-settings",
      action: Strip,
      title: "ALTER SYSTEM, LOAD",
      advice: "Omitted: the provider controls the server's settings.",
      message: "unsupported statement: AlterSystem",
      source: ["EMU", "LINT"],
    },
    {
      id: "database-settings",
      action: Error,
      title: "ALTER DATABASE",
      advice: "Set options in the connection.",
      sqlState: "0A000",
      source: ["LINT"],
      evidence: "inferred",
    },
    {
      id: "jobs",
      action: Warn,
      title: "sys.jobs and sys.wait_for_job",
      advice:
        "A completed job may have failed, and is deleted after 30 minutes: check indisvalid " +
        "and convalidated.",
      source: ["EMU", "SYS"],
    },
  ]),
  ...inCategory(Connection, [
    {
      id: "notify",
      action: AppLayer,
      title: "LISTEN, NOTIFY, UNLISTEN",
      advice: "Use a queue or an event bus.",
      message: "unsupported statement: Listen",
      source: ["EMU", "LINT"],
    },
    {
      id: "cursor",
      action: Error,
      title: "DECLARE CURSOR, FETCH, MOVE, CLOSE",
      advice: "Read pages by key.",
      sqlState: "0A000",
      source: ["LINT"],
    },
    {
      id: "prepare",
      action: Error,
      title: "PREPARE and EXECUTE as statements",
      advice: "Use the driver's prepared statements.",
      sqlState: "0A000",
      source: ["LINT"],
    },
    {
      id: "discard",
      action: Strip,
      title: "DISCARD, DEALLOCATE of one name",
      advice: "Omitted; DEALLOCATE ALL is kept.",
      sqlState: "0A000",
      source: ["LINT"],
    },
    {
      id: "set-role",
      action: AppLayer,
      title: "SET ROLE, SET SESSION AUTHORIZATION",
      advice: "Connect with the desired role.",
      message: 'setting configuration parameter "role" not supported',
      source: ["PROBE"],
    },
    {
      id: "dump-settings",
      action: Strip,
      title:
        "Settings and psql commands that pg_dump writes; a return to the connection's own role",
      advice: "Omitted: they have no effect here.",
      source: ["LINT"],
      evidence: "inferred",
    },
    {
      id: "psql-command",
      action: Error,
      title: "psql commands in SQL text",
      advice: "They are not SQL: remove them.",
      source: ["EMU"],
      evidence: "inferred",
    },
    {
      id: "session-age",
      action: Warn,
      title: "A session ends after 60 minutes",
      advice: "Close connections earlier, with jitter; each needs a new token.",
      source: ["Q", "TOK"],
    },
  ]),
];
