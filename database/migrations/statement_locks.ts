import { type AlterAction, readAlterActions } from "../../distsql/engine.ts";
import { keywordSet } from "../../sql/list_words.ts";
import { readName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";

/** Mode of a lock that other transactions notice: it blocks writes, or (`ACCESS EXCLUSIVE`) all. */
export type StrongMode = "SHARE" | "SHARE ROW EXCLUSIVE" | "EXCLUSIVE" | "ACCESS EXCLUSIVE";

/** Lock of a statement on an existing relation. */
export interface StrongLock {
  /** Table, view or index as written; the lock of an index is also its table's. */
  readonly relation: string;
  /** Mode of the lock. */
  readonly mode: StrongMode;
}

const MODES: readonly StrongMode[] = [
  "SHARE",
  "SHARE ROW EXCLUSIVE",
  "EXCLUSIVE",
  "ACCESS EXCLUSIVE",
];

/** Returns the modes that may be held by others while a lock is taken, as `pg_locks` writes them. */
export function compatibleModes(mode: StrongMode): readonly string[] {
  const compatible = ["AccessShareLock", "RowShareLock", "ShareLock"];
  if (mode === "SHARE") return compatible;
  if (mode === "SHARE ROW EXCLUSIVE") return compatible.slice(0, 2);
  return mode === "EXCLUSIVE" ? compatible.slice(0, 1) : [];
}

/** Actions of ALTER TABLE that let others read and write. */
const WEAK_ACTIONS: readonly (readonly string[])[] = [
  ["VALIDATE"],
  ["ATTACH"],
  ["CLUSTER", "ON"],
  ["SET", "WITHOUT", "CLUSTER"],
  ["SET", "("],
  ["RESET", "("],
];

function getActionMode(reader: StatementReader, action: AlterAction): StrongMode | undefined {
  const { from, to } = action;
  if (WEAK_ACTIONS.some((words) => reader.is(from, ...words))) return undefined;
  if (reader.is(from, "DETACH") && reader.is(to - 1, "CONCURRENTLY")) return undefined;
  if (action.kind === "add_constraint" && action.constraint.kind === "foreign_key") {
    return "SHARE ROW EXCLUSIVE";
  }
  if (action.kind === "alter_column" && action.change === "other") {
    const { end } = action.column;
    const isWeak = reader.is(end, "SET", "STATISTICS") || reader.is(end, "SET", "(") ||
      reader.is(end, "RESET", "(");
    if (isWeak) return undefined;
  }
  const isTrigger = (reader.is(from, "ENABLE") || reader.is(from, "DISABLE")) &&
    reader.find("TRIGGER", from, to) >= 0;
  return isTrigger ? "SHARE ROW EXCLUSIVE" : "ACCESS EXCLUSIVE";
}

function readAlterTable(reader: StatementReader): StrongLock[] {
  const { text, end } = readName(reader, reader.alteredTableAt());
  const modes = readAlterActions(reader).flatMap((action) => getActionMode(reader, action) ?? []);
  const strongest = MODES.findLast((mode) => modes.includes(mode));
  const own = strongest === undefined ? [] : [{ relation: text, mode: strongest }];
  return [...own, ...readReferences(reader, end)];
}

/** Reads the tables that foreign keys of a definition refer to. */
function readReferences(reader: StatementReader, from: number): StrongLock[] {
  const locks: StrongLock[] = [];
  for (let at = from; at < reader.size; at++) {
    if (!reader.is(at, "REFERENCES")) continue;
    locks.push({ relation: readName(reader, at + 1).text, mode: "SHARE ROW EXCLUSIVE" });
  }
  return locks;
}

/** Reads the relations that a list of names locks. */
function readList(
  reader: StatementReader,
  from: number,
  to: number,
  mode: StrongMode = "ACCESS EXCLUSIVE",
): StrongLock[] {
  return reader.list(from, to).map(([at]) => ({
    relation: readName(reader, reader.skip(at, "ONLY")).text,
    mode,
  }));
}

/** Reads the table after ON. */
function readOnTable(reader: StatementReader, mode: StrongMode): StrongLock[] {
  const on = reader.find("ON", 1);
  return on < 0 ? [] : readList(reader, on + 1, on + 2, mode);
}

/** Words after the tables of TRUNCATE. */
const AFTER_TABLES: ReadonlySet<string> = keywordSet("RESTART CONTINUE CASCADE RESTRICT");
const ON_TABLE: ReadonlySet<string> = keywordSet("POLICY RULE");
const RELATIONS: ReadonlySet<string> = keywordSet("TABLE VIEW SEQUENCE INDEX");

function readCreate(reader: StatementReader): StrongLock[] {
  let at = reader.skip(1, "OR", "REPLACE");
  const replaces = at > 1;
  at = reader.skip(reader.skip(at, "CONSTRAINT"), "UNIQUE");
  if (reader.is(at, "INDEX")) {
    return reader.is(at + 1, "CONCURRENTLY") ? [] : readOnTable(reader, "SHARE");
  }
  if (reader.is(at, "TRIGGER")) return readOnTable(reader, "SHARE ROW EXCLUSIVE");
  if (reader.is(at, "RULE")) {
    const to = reader.find("TO", at);
    return to < 0 ? [] : readList(reader, to + 1, to + 2);
  }
  if (reader.is(at, "POLICY")) return readOnTable(reader, "ACCESS EXCLUSIVE");
  if (reader.is(at, "VIEW")) return replaces ? readList(reader, at + 1, at + 2) : [];
  if (!reader.is(at, "TABLE")) return [];
  const { end } = readName(reader, reader.skip(at + 1, "IF", "NOT", "EXISTS"));
  const parent = reader.is(end, "PARTITION", "OF") ? readList(reader, end + 2, end + 3) : [];
  return [...parent, ...readReferences(reader, end)];
}

function readDrop(reader: StatementReader): StrongLock[] {
  const at = reader.skip(1, "MATERIALIZED");
  if (reader.isOneOf(at, ON_TABLE) || reader.is(at, "TRIGGER")) {
    return readOnTable(reader, "ACCESS EXCLUSIVE");
  }
  if (!reader.isOneOf(at, RELATIONS) || reader.is(at + 1, "CONCURRENTLY")) return [];
  return readList(reader, reader.skip(at + 1, "IF", "EXISTS"), reader.droppedEnd());
}

function readAlter(reader: StatementReader): StrongLock[] {
  if (reader.is(1, "TABLE")) return readAlterTable(reader);
  if (reader.is(1, "POLICY")) return readOnTable(reader, "ACCESS EXCLUSIVE");
  const at = reader.skip(1, "MATERIALIZED");
  // a rename of an index lets others read and write
  if (!reader.isOneOf(at, RELATIONS) || reader.is(at, "INDEX")) return [];
  const nameAt = reader.skip(at + 1, "IF", "EXISTS");
  return readList(reader, nameAt, nameAt + 1);
}

function readLock(reader: StatementReader): StrongLock[] {
  const from = reader.skip(1, "TABLE");
  const to = reader.find("IN", from);
  if (to < 0) return readList(reader, from, reader.size);
  const mode = MODES.find((one) => reader.is(to + 1, ...one.split(" "), "MODE"));
  return mode === undefined ? [] : readList(reader, from, to, mode);
}

/**
 * Reads the locks of a statement that keep other transactions from writing or reading. Locks inside
 * of functions and DO blocks are unknown. Source: PostgreSQL 18, "Explicit Locking" and
 * AlterTableGetLockLevel in tablecmds.c.
 *
 * @param reader The statement.
 * @returns One lock per relation that the statement names; empty for changes of rows, and for
 * statements that others do not notice.
 */
export function readStrongLocks(reader: StatementReader): StrongLock[] {
  switch (reader.key(0)) {
    case "CREATE":
      return readCreate(reader);
    case "ALTER":
      return readAlter(reader);
    case "DROP":
      return readDrop(reader);
    case "TRUNCATE": {
      const end = reader.findEnd(AFTER_TABLES, 1);
      return readList(reader, reader.skip(1, "TABLE"), end);
    }
    case "LOCK":
      return readLock(reader);
    case "CLUSTER":
      return reader.size > 1 ? readList(reader, 1, 2) : [];
    case "REFRESH": {
      const at = reader.skip(3, "CONCURRENTLY");
      return readList(reader, at, at + 1, at > 3 ? "EXCLUSIVE" : "ACCESS EXCLUSIVE");
    }
    case "REINDEX":
      if (reader.find("CONCURRENTLY", 1) >= 0 || !reader.isOneOf(1, RELATIONS)) return [];
      return readList(reader, 2, 3, "SHARE");
    default:
      return [];
  }
}
