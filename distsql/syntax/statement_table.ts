import { readName } from "../../sql/sql_name.ts";
import type { StatementReader } from "../../sql/statement_reader.ts";
import { keywordSet } from "../../sql/list_words.ts";

/** Keywords between the object's kind and its name. */
const BEFORE_NAME: ReadonlySet<string> = new Set(["IF", "NOT", "EXISTS", "ONLY"]);
/** Objects of a table that name it after ON. */
const ON_TABLE: ReadonlySet<string> = new Set(["INDEX", "POLICY", "TRIGGER"]);
/** Position of the table's name in statements that start with these words. */
const NAME_AFTER: Readonly<Record<string, number>> = { INSERT: 2, MERGE: 2, DELETE: 2, UPDATE: 1 };
const DEFINITIONS: ReadonlySet<string> = new Set(["CREATE", "ALTER", "DROP", "COMMENT"]);

/**
 * Checks for `ALTER TABLE ASYNC name VALIDATE CONSTRAINT`, not for a table named async.
 *
 * @param reader The statement.
 * @returns Position of the table's name, or -1.
 */
export function asyncTableAt(reader: StatementReader): number {
  if (!reader.is(0, "ALTER", "TABLE", "ASYNC")) return -1;
  const at = reader.skip(reader.skip(3, "IF", "EXISTS"), "ONLY");
  const end = reader.nameEnd(at);
  return end > at && reader.is(end, "VALIDATE", "CONSTRAINT") ? at : -1;
}

/**
 * Returns the table of a statement, if its first words name one.
 *
 * @param reader The statement.
 * @returns The name without quotes, with its schema if the statement has it.
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
    const on = first === "CREATE" ? reader.find("ON", at) : -1;
    return on < 0 ? undefined : pathAt(on + 1);
  }
  return undefined;
}

/** Keywords between CREATE and the object. */
const MODIFIERS: ReadonlySet<string> = keywordSet(`
  OR REPLACE UNIQUE TEMP TEMPORARY LOCAL GLOBAL UNLOGGED RECURSIVE CONSTRAINT EVENT
`);

/** Returns the position of the object in CREATE, ALTER, DROP and COMMENT ON. */
export function objectAt(reader: StatementReader): number {
  let at = reader.is(0, "COMMENT", "ON") ? 2 : 1;
  while (reader.key(0) === "CREATE" && reader.isOneOf(at, MODIFIERS)) at++;
  return at;
}

/** Kinds of objects that are followed by the name. */
const NAMED_KINDS: ReadonlySet<string> = keywordSet(`
  TYPE DOMAIN SEQUENCE VIEW FUNCTION PROCEDURE AGGREGATE SCHEMA EXTENSION ROLE USER
  INDEX STATISTICS COLLATION SERVER PUBLICATION SUBSCRIPTION DATABASE LANGUAGE TRIGGER
`);

/**
 * Returns the object that a statement defines, changes or drops, if it is not a table or part of
 * one.
 *
 * @param reader The statement.
 * @returns The name without quotes, with its schema if the statement has it.
 */
export function getObject(reader: StatementReader): string | undefined {
  if (!DEFINITIONS.has(reader.key(0))) return undefined;
  let at = reader.skip(reader.skip(objectAt(reader), "MATERIALIZED"), "EVENT");
  if (!reader.isOneOf(at, NAMED_KINDS)) return undefined;
  at++;
  while (reader.isOneOf(at, BEFORE_NAME) && reader.isName(at + 1)) at++;
  return readName(reader, at).path || undefined;
}
