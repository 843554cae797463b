import { readLiteral } from "../../sql/quote.ts";
import { splitStatements } from "../../sql/statement.ts";
import { StatementReader } from "../../sql/statement_reader.ts";
import { type SqlToken, tokenize } from "../../sql/tokenize.ts";

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
    const token = reader.token(at);
    if (token?.kind === "string") return readLiteral(token);
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
  if (block.key(0) !== "BEGIN" || !isPlainSql) return undefined;
  const end = block.find(";", 1);
  const ignores = end < 0 ? undefined : ignoredBy(block, end + 1);
  if (!ignores) return undefined;
  const [statement, ...more] = splitStatements(block.text(1, end + 1));
  return statement && more.length === 0 ? { tokens: statement.tokens, ignores } : undefined;
}
