import { readName } from "./sql_name.ts";
import type { StatementReader } from "./statement_reader.ts";

/** Words between the object's keyword and its name. */
const BEFORE_NAME: ReadonlySet<string> = new Set(["IF", "NOT", "EXISTS", "ONLY"]);
/** Objects of a table that name it after ON. */
const ON_TABLE: ReadonlySet<string> = new Set(["INDEX", "POLICY", "TRIGGER"]);
/** Where the table's name is in statements that start with these words. */
const NAME_AFTER: Readonly<Record<string, number>> = { INSERT: 2, MERGE: 2, DELETE: 2, UPDATE: 1 };
const DEFINITIONS: ReadonlySet<string> = new Set(["CREATE", "ALTER", "DROP", "COMMENT"]);

/**
 * Whether a statement is `ALTER TABLE ASYNC name VALIDATE CONSTRAINT`, and not about a table called async.
 *
 * @param reader The statement.
 * @returns The position of the table's name, or -1.
 */
export function asyncTableAt(reader: StatementReader): number {
  if (!reader.is(0, "ALTER", "TABLE", "ASYNC")) return -1;
  const at = reader.skip(reader.skip(3, "IF", "EXISTS"), "ONLY");
  const end = reader.nameEnd(at);
  return end > at && reader.is(end, "VALIDATE", "CONSTRAINT") ? at : -1;
}

/**
 * The table that a statement is about, where its first words name one.
 *
 * @param reader The statement.
 * @returns The name without quotes, with its schema when the statement has it.
 */
export function getTable(reader: StatementReader): string | undefined {
  const pathAt = (at: number): string | undefined => {
    while (reader.isOneOf(at, BEFORE_NAME) && reader.isName(at + 1)) at++;
    return readName(reader, at).path || undefined;
  };
  const first = reader.key(0);
  const asyncAt = asyncTableAt(reader);
  if (asyncAt >= 0) return pathAt(asyncAt);
  if (first === "TRUNCATE" || first === "LOCK") return pathAt(reader.skip(1, "TABLE"));
  if (Object.hasOwn(NAME_AFTER, first)) return pathAt(NAME_AFTER[first]);
  if (!DEFINITIONS.has(first)) return undefined;
  for (let at = 1; reader.token(at)?.kind === "word" && at < 6; at++) {
    if (reader.key(at) === "TABLE") return pathAt(at + 1);
    if (!reader.isOneOf(at, ON_TABLE)) continue;
    const on = first === "CREATE" ? reader.find(new Set(["ON"]), at) : -1;
    return on < 0 ? undefined : pathAt(on + 1);
  }
  return undefined;
}

/** Words that may stand between CREATE, ALTER, DROP or COMMENT ON and the kind of object. */
const BEFORE_KIND: ReadonlySet<string> = new Set([
  ...[
    "ON",
    "OR",
    "REPLACE",
    "TEMP",
    "TEMPORARY",
    "LOCAL",
    "GLOBAL",
    "UNLOGGED",
    "RECURSIVE",
    "MATERIALIZED",
    "EVENT",
  ],
]);
/** Kinds of objects whose name follows the kind. */
const NAMED_KINDS: ReadonlySet<string> = new Set([
  ...[
    "TYPE",
    "DOMAIN",
    "SEQUENCE",
    "VIEW",
    "FUNCTION",
    "PROCEDURE",
    "AGGREGATE",
    "SCHEMA",
    "EXTENSION",
    "ROLE",
    "USER",
  ],
  ...[
    "INDEX",
    "STATISTICS",
    "COLLATION",
    "SERVER",
    "PUBLICATION",
    "SUBSCRIPTION",
    "DATABASE",
    "LANGUAGE",
    "TRIGGER",
  ],
]);

/**
 * The object that a statement defines, changes or drops, where it is no table and belongs to none.
 *
 * @param reader The statement.
 * @returns The name without quotes, with its schema when the statement has it.
 */
export function getObject(reader: StatementReader): string | undefined {
  if (!DEFINITIONS.has(reader.key(0))) return undefined;
  let at = 1;
  while (reader.isOneOf(at, BEFORE_KIND)) at++;
  if (!reader.isOneOf(at, NAMED_KINDS)) return undefined;
  at++;
  while (reader.isOneOf(at, BEFORE_NAME) && reader.isName(at + 1)) at++;
  return readName(reader, at).path || undefined;
}
