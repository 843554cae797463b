import { readLiteral } from "../../schema/literals.ts";
import { readName } from "../../../sql/sql_name.ts";
import { splitStatements } from "../../../sql/statement.ts";
import { parseStatement, StatementReader } from "../../../sql/statement_reader.ts";
import { type SqlToken, tokenize } from "../../../sql/tokenize.ts";
import { keywordSet } from "../../../sql/list_words.ts";

/** Conditions for objects that exist already, with their SQLSTATEs (PostgreSQL 18, appendix A). */
const DUPLICATES: Readonly<Record<string, string>> = {
  DUPLICATE_OBJECT: "42710",
  DUPLICATE_TABLE: "42P07",
  DUPLICATE_COLUMN: "42701",
};

/** Statement in a DO block that ignores existing objects. */
export interface GuardedStatement {
  /** The statement. */
  readonly tokens: readonly SqlToken[];
  /** SQLSTATEs that the block ignores. */
  readonly ignores: readonly string[];
}

/** Returns the text of the block, between dollar quotes or quotes. */
function getBody(reader: StatementReader): string | undefined {
  for (let at = 1; at < reader.size; at++) {
    const token = reader.token(at)!;
    if (token.kind !== "string") continue;
    const tag = /^\$[^$]*\$/.exec(token.text)?.[0];
    if (tag !== undefined) return token.text.slice(tag.length, -tag.length);
    return token.text.startsWith("'") ? token.text.slice(1, -1).replaceAll("''", "'") : undefined;
  }
  return undefined;
}

/**
 * Returns the conditions of `EXCEPTION WHEN a OR b THEN null` as SQLSTATEs; `undefined` if a
 * handler does anything else.
 */
function ignoredBy(reader: StatementReader, from: number): string[] | undefined {
  const ignores: string[] = [];
  let at = from;
  if (reader.key(at++) !== "EXCEPTION") return undefined;
  while (reader.key(at) === "WHEN") {
    do {
      const sqlState = DUPLICATES[reader.key(++at)];
      if (sqlState === undefined) return undefined;
      ignores.push(sqlState);
      at++;
    } while (reader.key(at) === "OR");
    if (!reader.is(at, "THEN", "NULL", ";")) return undefined;
    at += 3;
  }
  return reader.is(at, "END") && at + 1 === reader.size ? ignores : undefined;
}

/** Keywords by which a condition would match more or less than one type. */
const OTHER_LOGIC = keywordSet("OR NOT UNION EXCEPT INTERSECT LIMIT OFFSET HAVING GROUP");

/** Checks whether a subquery only searches pg_type for a name, in the current schema. */
function looksForType(block: StatementReader, from: number, to: number, name: string): boolean {
  let [readsTypes, namesType] = [false, false];
  for (let at = from; at < to; at++) {
    if (OTHER_LOGIC.has(block.key(at))) return false;
    const text = block.token(at)?.kind === "string" ? readLiteral(block.token(at)) : undefined;
    if (text !== undefined && text !== name && text !== "public" && text !== "e") return false;
    readsTypes ||= block.is(at, "PG_TYPE");
    namesType ||= text === name && block.is(at - 2, "TYPNAME", "=");
  }
  return readsTypes && namesType;
}

/** Returns the statement between THEN and END IF, written directly or as the text of EXECUTE. */
function readGuarded(block: StatementReader, from: number, end: number): StatementReader {
  if (!block.is(from, "EXECUTE") || end !== from + 2) {
    return parseStatement(block.text(from, end));
  }
  return parseStatement(readLiteral(block.token(from + 1)) ?? "");
}

/**
 * Extracts CREATE TYPE from `BEGIN IF NOT EXISTS (SELECT … FROM pg_type WHERE typname = 'name' …)
 * THEN CREATE TYPE name …; END IF; END`, which creates the type unless it exists.
 */
function unwrapMissingType(block: StatementReader): GuardedStatement | undefined {
  if (!block.is(0, "BEGIN", "IF", "NOT", "EXISTS", "(", "SELECT")) return undefined;
  const close = block.closing(4);
  const end = block.find(";", close);
  if (
    !block.is(close + 1, "THEN") || !block.is(end, ";", "END", "IF", ";", "END") ||
    end + 5 !== block.size
  ) {
    return undefined;
  }
  const guarded = readGuarded(block, close + 2, end);
  if (!guarded.is(0, "CREATE", "TYPE")) return undefined;
  if (!looksForType(block, 5, close, readName(guarded, 2).name)) return undefined;
  const [statement, ...more] = splitStatements(guarded.text(0, guarded.size));
  return more.length === 0
    ? { tokens: statement.tokens, ignores: [DUPLICATES.DUPLICATE_OBJECT] }
    : undefined;
}

/**
 * Extracts the statement from a block as drizzle-kit and others write it: `DO $$ BEGIN statement;
 * EXCEPTION WHEN duplicate_object THEN null; END $$`.
 *
 * @param reader The DO statement.
 * @returns The statement, or `undefined` if the block does more than that.
 */
export function unwrapDoBlock(reader: StatementReader): GuardedStatement | undefined {
  const body = getBody(reader);
  if (body === undefined) return undefined;
  const tokens = tokenize(body);
  const block = new StatementReader(tokens);
  const isPlainSql = block.is(1, "ALTER") || block.is(1, "CREATE");
  const type = unwrapMissingType(block);
  if (type !== undefined) return type;
  if (block.key(0) !== "BEGIN" || !isPlainSql) return undefined;
  const end = block.find(";", 1);
  const ignores = end < 0 ? undefined : ignoredBy(block, end + 1);
  if (!ignores) return undefined;
  const [statement, ...more] = splitStatements(block.text(1, end + 1));
  return statement && more.length === 0 ? { tokens: statement.tokens, ignores } : undefined;
}
