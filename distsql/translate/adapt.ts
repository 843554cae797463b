import { ConfigurationError } from "../../errors/http_errors.ts";
import { isAsyncKeyword } from "./rules/create_index.ts";
import { findRelationNames, type NameUse } from "../../sql/relation_names.ts";
import { getName, writeName } from "../../sql/sql_name.ts";
import { splitStatements, terminateStatement } from "../../sql/statement.ts";
import { StatementReader } from "../../sql/statement_reader.ts";
import { asyncTableAt } from "../syntax/statement_table.ts";
import { TokenEdits } from "../../sql/token_edits.ts";

/** Prefix of names: a schema, or the start of the name. */
interface Prefix {
  readonly text: string;
  readonly isSchema: boolean;
}

const SYSTEM_SCHEMA = "sys";
const SYSTEM_NAMES: ReadonlySet<string> = new Set(["jobs", "wait_for_job", "iam_pg_role_mappings"]);
const READS: ReadonlySet<string> = new Set(["SELECT", "CALL", "WITH"]);
const WRITES: ReadonlySet<string> = new Set(["INSERT", "UPDATE", "DELETE", "MERGE"]);

function readPrefix(prefix: string): Prefix | undefined {
  if (prefix === "") return undefined;
  const isSchema = prefix.endsWith(".");
  const raw = isSchema ? prefix.slice(0, -1) : prefix;
  const text = /^".+"$/s.test(raw) ? raw.slice(1, -1).replaceAll('""', '"') : raw;
  if (text === "" || text.includes("\0")) {
    throw new ConfigurationError(
      `prefix is ${JSON.stringify(prefix)}: give the start of a name (w1_) or a schema (w1.)`,
    );
  }
  return { text, isSchema };
}

/** Checks for statements that only the provider has: IAM mappings and reads of its jobs. */
function isOwn(reader: StatementReader): boolean {
  if (reader.is(0, "AWS", "IAM")) return true;
  if (!reader.isOneOf(0, READS)) return false;
  for (let at = 0; at < reader.size; at++) {
    const isSystem = reader.key(at + 1) === "." && reader.key(at - 1) !== "." &&
      reader.isName(at) &&
      reader.isName(at + 2);
    const isOwnName = isSystem && getName(reader.token(at)!) === SYSTEM_SCHEMA &&
      SYSTEM_NAMES.has(getName(reader.token(at + 2)!));
    if (isOwnName) return !writesRows(reader);
  }
  return false;
}

/** Checks whether a statement also changes rows, so that it is not just a read of jobs. */
function writesRows(reader: StatementReader): boolean {
  for (let at = 0; at < reader.size; at++) if (reader.isOneOf(at, WRITES)) return true;
  return false;
}

/** Removes ASYNC from CREATE INDEX and ALTER TABLE … VALIDATE CONSTRAINT. */
function dropAsync(reader: StatementReader, edits: TokenEdits): void {
  if (reader.is(0, "CREATE")) {
    const index = reader.skip(1, "UNIQUE") + 1;
    if (reader.is(index - 1, "INDEX") && isAsyncKeyword(reader, index)) {
      return edits.remove(index, index + 1);
    }
  }
  if (asyncTableAt(reader) >= 0) edits.remove(2, 3);
}

function prefixName(
  reader: StatementReader,
  { at, role }: NameUse,
  prefix: Prefix,
  edits: TokenEdits,
): void {
  if (prefix.isSchema) {
    if (role === "relation") edits.insertBefore(at, `${writeName(prefix.text, false)}.`);
    return;
  }
  const token = reader.token(at)!;
  if (token.kind === "quoted") {
    const open = token.text.indexOf('"') + 1;
    edits.replace(
      at,
      at + 1,
      token.text.slice(0, open) + prefix.text.replaceAll('"', '""') + token.text.slice(open),
    );
  } else edits.replace(at, at + 1, writeName(prefix.text + getName(token), false));
}

function adaptStatement(statement: StatementReader, prefix: Prefix | undefined): string {
  const edits = new TokenEdits(statement);
  dropAsync(statement, edits);
  if (!prefix) return edits.apply();
  // names are searched in the statement as PostgreSQL parses it
  const plain = edits.isEmpty
    ? statement
    : new StatementReader(splitStatements(edits.apply())[0].tokens);
  const names = new TokenEdits(plain);
  for (const use of findRelationNames(plain)) prefixName(plain, use, prefix, names);
  return names.apply();
}

/**
 * Converts SQL of the distributed-SQL provider to standard PostgreSQL, for tests on an embedded
 * database. Removes ASYNC, IAM mappings and reads of the provider's jobs. Other text is not
 * changed.
 *
 * A prefix separates the tables and indexes of one test run from those of others: `w1_` changes
 * `users` to `w1_users`, and also constraint names, because unique constraints name an index; `w1.`
 * puts `users` into the schema w1. Qualified names are not changed, nor names inside literals such
 * as `nextval('seq')`.
 *
 * @param sql SQL of the provider, or of PostgreSQL.
 * @param prefix Start of names, or a schema followed by a dot.
 * @returns SQL of PostgreSQL; empty if nothing is left.
 * @throws {ConfigurationError} If the prefix is only a dot or contains NUL.
 *
 * @example
 * ```ts
 * import { adaptForStandardPg } from "@trellis/fn/database";
 *
 * console.log(adaptForStandardPg("CREATE INDEX ASYNC at_idx ON notes (at)", "w1_"));
 * // CREATE INDEX w1_at_idx ON w1_notes (at)
 * ```
 */
export function adaptForStandardPg(sql: string, prefix = ""): string {
  const given = readPrefix(prefix);
  let text = "";
  let at = 0;
  let isEmpty = true;
  const statements = splitStatements(sql);
  for (const statement of statements) {
    const reader = new StatementReader(statement.tokens);
    text += sql.slice(at, statement.start);
    at = statement.start + statement.text.length;
    if (isOwn(reader)) continue;
    isEmpty = false;
    const adapted = adaptStatement(reader, given);
    text += statements.length > 1 ? terminateStatement(adapted) : adapted;
  }
  return isEmpty ? "" : text + sql.slice(at);
}
