import { type ActionOf, type AlterAction, readAlterActions } from "../../distsql/engine.ts";
import { keywordSet } from "../../sql/list_words.ts";
import { type QualifiedName, readName } from "../../sql/sql_name.ts";
import { parseStatement, type StatementReader } from "../../sql/statement_reader.ts";
import type { Row, SqlSession } from "../../sql/session.ts";

/**
 * Evidence in the catalog about a statement that may have run: it ran (`done`), it did not run or
 * may be repeated (`run`), its index exists and is invalid (`invalid`), or the catalog does not
 * show it (`unknown`).
 */
export type CatalogEvidence = "done" | "run" | "invalid" | "unknown";

interface CatalogProbe {
  sql: string;
  params: string[];
  /** Interprets the row. */
  read: (row: Row | undefined) => CatalogEvidence;
}

/** Statements that may be repeated. */
const AGAIN: ReadonlySet<string> = keywordSet(
  "COMMENT GRANT REVOKE SET RESET ANALYZE VACUUM REINDEX CLUSTER REFRESH SELECT",
);

/**
 * Looks in the catalog for the effect of a DDL statement.
 *
 * @param session Session to read with.
 * @param sql The statement.
 * @returns The evidence.
 */
export async function lookUpStatement(
  session: SqlSession,
  sql: string,
): Promise<CatalogEvidence> {
  const question = probe(parseStatement(sql));
  if (typeof question === "string") return question;
  const [row] = await session.query(question.sql, question.params);
  return question.read(row);
}

function probe(reader: StatementReader): CatalogProbe | CatalogEvidence {
  if (reader.isOneOf(0, AGAIN)) return "run";
  if (reader.is(0, "CREATE")) return probeCreate(reader);
  if (reader.is(0, "DROP")) return probeDrop(reader);
  if (reader.is(0, "ALTER", "TABLE")) return probeAlterTable(reader);
  if (reader.is(0, "ALTER", "INDEX")) return probeRename(reader, reader.skip(2, "IF", "EXISTS"));
  if (reader.is(0, "ALTER", "TYPE")) return probeAddValue(reader);
  if (reader.is(0, "ALTER", "SEQUENCE")) {
    return probeSequence(reader, reader.skip(2, "IF", "EXISTS"));
  }
  return "unknown";
}

const RELATIONS: ReadonlySet<string> = keywordSet("TABLE VIEW SEQUENCE INDEX");
/** Query that checks for a table, view, sequence or index. */
export const RELATION = "SELECT to_regclass($1) IS NOT NULL AS there";

function probeCreate(reader: StatementReader): CatalogProbe | CatalogEvidence {
  let at = 1;
  if (reader.is(at, "OR", "REPLACE")) return "run";
  while (["UNIQUE", "UNLOGGED", "MATERIALIZED"].includes(reader.key(at))) at++;
  const kind = reader.key(at++);
  if (kind === "INDEX") return probeIndex(reader);
  if (reader.is(at, "IF", "NOT", "EXISTS")) return "run";
  return probeObject(reader, kind, at, "adds");
}

/** Objects that are identified by their name. */
const NAMED: Readonly<Record<string, readonly [catalog: string, column: string] | undefined>> = {
  SCHEMA: ["pg_namespace", "nspname"],
  ROLE: ["pg_roles", "rolname"],
  USER: ["pg_roles", "rolname"],
  EXTENSION: ["pg_extension", "extname"],
  DATABASE: ["pg_database", "datname"],
};

/** Probes for an object that a statement adds or drops. */
function exists(sql: string, params: string[], effect: "adds" | "drops"): CatalogProbe {
  return {
    sql,
    params,
    read: (row) => (row?.there === true) === (effect === "adds") ? "done" : "run",
  };
}

/** Probes for the object of a CREATE or DROP by its kind and the position of its name. */
function probeObject(
  reader: StatementReader,
  kind: string,
  at: number,
  effect: "adds" | "drops",
): CatalogProbe | CatalogEvidence {
  const { text, name } = readName(reader, at);
  if (RELATIONS.has(kind)) return exists(RELATION, [text], effect);
  const [catalog, column] = NAMED[kind] ?? [];
  if (catalog === undefined) return "unknown";
  const sql = `SELECT count(*) > 0 AS there FROM ${catalog} WHERE ${column} = $1`;
  return exists(sql, [name], effect);
}

/** Reads the name and the table of CREATE INDEX, if the index has a name. */
function readIndex(
  reader: StatementReader,
): { name: QualifiedName; tableAt: number } | undefined {
  let at = reader.skip(1, "UNIQUE");
  if (!reader.is(0, "CREATE") || !reader.is(at, "INDEX")) return undefined;
  at++;
  if (reader.is(at, "ASYNC") || reader.is(at, "CONCURRENTLY")) at++;
  at = reader.skip(at, "IF", "NOT", "EXISTS");
  if (!reader.isName(at) || reader.is(at, "ON")) return undefined;
  const name = readName(reader, at);
  if (!reader.is(name.end, "ON")) return undefined;
  return { name, tableAt: reader.skip(name.end + 1, "ONLY") };
}

function probeIndex(reader: StatementReader): CatalogProbe | CatalogEvidence {
  const index = readIndex(reader);
  if (index === undefined) return "unknown";
  return {
    sql: INDEX_STATE,
    params: [index.name.name, readName(reader, index.tableAt).text],
    read(row) {
      if (row === undefined) return "run";
      return row.valid === true ? "done" : "invalid";
    },
  };
}

/** Query for the validity of a table's index; returns no row if the index does not exist. */
export const INDEX_STATE =
  "SELECT i.indisvalid AS valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid " +
  "WHERE c.relname = $1 AND i.indrelid = to_regclass($2)";

/**
 * Query for the validation of a table's constraint; returns no row if the constraint does not
 * exist.
 */
export const CONSTRAINT_STATE = "SELECT convalidated AS valid FROM pg_constraint " +
  "WHERE conname = $1 AND conrelid = to_regclass($2)";

function probeDrop(reader: StatementReader): CatalogProbe | CatalogEvidence {
  const kind = reader.key(1) === "MATERIALIZED" ? reader.key(2) : reader.key(1);
  let at = reader.key(1) === "MATERIALIZED" ? 3 : 2;
  at = reader.skip(at, "CONCURRENTLY");
  if (reader.is(at, "IF", "EXISTS")) return "run";
  return probeObject(reader, kind, at, "drops");
}

/** Query that checks for a column. */
export const COLUMN = "SELECT count(*) > 0 AS there FROM pg_attribute WHERE " +
  "attrelid = to_regclass($1) AND attname = $2 AND attnum > 0 AND NOT attisdropped";
const CONSTRAINT = "SELECT count(*) > 0 AS there FROM pg_constraint WHERE " +
  "conrelid = to_regclass($1) AND conname = $2";

/**
 * Probes an ALTER TABLE. Its actions are atomic, so the first action with a visible effect is
 * evidence for all.
 */
function probeAlterTable(reader: StatementReader): CatalogProbe | CatalogEvidence {
  const at = reader.skip(reader.skip(reader.skip(2, "ASYNC"), "IF", "EXISTS"), "ONLY");
  const table = readName(reader, at).text;
  let answer: CatalogProbe | CatalogEvidence = "run";
  for (const action of readAlterActions(reader, at)) {
    const probed = probeAction(reader, action, table);
    if (typeof probed === "object") return probed;
    if (probed === "unknown") answer = "unknown";
  }
  return answer;
}

const SETTINGS: ReadonlySet<string> = keywordSet("OWNER ENABLE DISABLE SET RESET FORCE");
const COLUMN_SETTINGS: ReadonlySet<string> = keywordSet("STORAGE STATISTICS");

function probeAction(
  reader: StatementReader,
  action: AlterAction,
  table: string,
): CatalogProbe | CatalogEvidence {
  const named = (sql: string, name: string | undefined, effect: "adds" | "drops") =>
    name === undefined || name === "" ? "unknown" : exists(sql, [table, name], effect);
  if ("isGuarded" in action && action.isGuarded) return "run";
  switch (action.kind) {
    case "add_column":
      return named(COLUMN, action.column.name.name, "adds");
    case "add_constraint":
      return named(CONSTRAINT, action.constraint.name?.name, "adds");
    case "drop_column":
    case "rename_column":
      return named(COLUMN, action.name, "drops");
    case "drop_constraint":
    case "rename_constraint":
      return named(CONSTRAINT, action.name, "drops");
    case "alter_column":
      return probeAlterColumn(reader, action, table);
    case "rename_table":
      return exists(RELATION, [table], "drops");
    case "set_schema":
      return "unknown";
    case "validate":
      return "run";
    case "other":
      return reader.isOneOf(action.from, SETTINGS) ? "run" : "unknown";
  }
}

function probeAlterColumn(
  reader: StatementReader,
  { column: { name, end }, change, valueAt }: ActionOf<"alter_column">,
  table: string,
): CatalogProbe | CatalogEvidence {
  switch (change) {
    case "set_not_null":
    case "drop_not_null":
    case "set_default":
    case "drop_default":
      return "run";
    case "drop_identity":
      return reader.is(valueAt, "IF") ? "run" : exists(IDENTITY, [table, name], "drops");
    default: {
      const isSetting = reader.is(end, "SET") && reader.isOneOf(end + 1, COLUMN_SETTINGS);
      return isSetting ? "run" : "unknown";
    }
  }
}

/** Query that checks for an identity column. */
const IDENTITY = "SELECT count(*) > 0 AS there FROM pg_attribute WHERE " +
  "attrelid = to_regclass($1) AND attname = $2 AND attidentity <> ''";

/** Probes an ALTER SEQUENCE: a rename is visible in the catalog, settings may be repeated. */
function probeSequence(reader: StatementReader, at: number): CatalogProbe | CatalogEvidence {
  const end = reader.nameEnd(at);
  if (reader.is(end, "RENAME")) return probeRename(reader, at);
  return reader.is(end, "SET", "SCHEMA") ? "unknown" : "run";
}

function probeRename(reader: StatementReader, at: number): CatalogProbe | CatalogEvidence {
  const { text, end } = readName(reader, at);
  return reader.is(end, "RENAME", "TO") ? exists(RELATION, [text], "drops") : "unknown";
}

function probeAddValue(reader: StatementReader): CatalogProbe | CatalogEvidence {
  const type = readName(reader, 2);
  if (!reader.is(type.end, "ADD", "VALUE")) return "unknown";
  if (reader.is(type.end + 2, "IF")) return "run";
  const label = reader.token(type.end + 2);
  if (label === undefined || !/^'[^']*'$/.test(label.text)) return "unknown";
  const sql =
    "SELECT count(*) > 0 AS there FROM pg_enum WHERE enumtypid = to_regtype($1) AND enumlabel = $2";
  return exists(sql, [type.text, label.text.slice(1, -1)], "adds");
}

/** Returns the statement that drops the index which a statement creates, if it names one. */
export function dropIndexSql(sql: string): string | undefined {
  const reader = parseStatement(sql);
  const index = readIndex(reader);
  if (index === undefined) return undefined;
  const { name, tableAt } = index;
  const end = reader.nameEnd(tableAt);
  // an index is in its table's schema
  const schema = end - tableAt > 1 ? `${reader.text(tableAt, end - 2)}.` : "";
  // the table stays open to others
  const how = buildsConcurrently(sql) ? "CONCURRENTLY " : "";
  return `DROP INDEX ${how}IF EXISTS ${schema}${name.text}`;
}

/** Checks for CREATE INDEX CONCURRENTLY. */
export function buildsConcurrently(sql: string): boolean {
  const reader = parseStatement(sql);
  const at = reader.skip(1, "UNIQUE");
  return reader.is(0, "CREATE") && reader.is(at, "INDEX", "CONCURRENTLY");
}
