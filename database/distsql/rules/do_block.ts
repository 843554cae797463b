import { readLiteral } from "../declared/literals.ts";
import { readName } from "../sql_name.ts";
import { splitStatements } from "../statement.ts";
import { StatementReader } from "../statement_reader.ts";
import { type SqlToken, tokenize } from "../tokenize.ts";

/** The conditions that say "it is there already", with their SQLSTATEs (PostgreSQL 18, appendix A). */
const DUPLICATES: Readonly<Record<string, string>> = {
  DUPLICATE_OBJECT: "42710",
  DUPLICATE_TABLE: "42P07",
  DUPLICATE_COLUMN: "42701",
};

/** One statement in a DO block that ignores that its object is there. */
export interface GuardedStatement {
  /** The statement. */
  readonly tokens: readonly SqlToken[];
  /** The SQLSTATEs that the block ignores. */
  readonly ignores: readonly string[];
}

/** The text of the block: between dollar quotes, or between quotes. */
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

/** The conditions of `EXCEPTION WHEN a OR b THEN null`, as SQLSTATEs; none when a handler does anything else. */
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
 * Takes CREATE TYPE out of `BEGIN IF NOT EXISTS (SELECT … FROM pg_type WHERE typname = 'name' …) THEN CREATE TYPE name …;
 * END IF; END`, which creates the type unless it exists.
 */
function unwrapMissingType(block: StatementReader): GuardedStatement | undefined {
  if (!block.is(0, "BEGIN", "IF", "NOT", "EXISTS", "(", "SELECT")) return undefined;
  const close = block.closing(4);
  const create = close + 2;
  const end = block.find(new Set([";"]), create);
  if (
    !block.is(close + 1, "THEN", "CREATE", "TYPE") || !block.is(end, ";", "END", "IF", ";", "END")
  ) return undefined;
  const { name } = readName(block, create + 2);
  let [readsTypes, namesType] = [false, false];
  for (let at = 5; at < close; at++) {
    readsTypes ||= block.is(at, "PG_TYPE");
    namesType ||= block.is(at, "TYPNAME", "=") && readLiteral(block.token(at + 2)) === name;
  }
  if (!readsTypes || !namesType || end + 5 !== block.size) return undefined;
  const [statement] = splitStatements(block.text(create, end + 1));
  return { tokens: statement.tokens, ignores: [DUPLICATES.DUPLICATE_OBJECT] };
}

/**
 * Takes the statement out of the block that drizzle-kit and others write around it:
 * `DO $$ BEGIN statement; EXCEPTION WHEN duplicate_object THEN null; END $$`.
 *
 * @param reader The DO statement.
 * @returns The statement, or `undefined` when the block does more than that.
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
  const end = block.find(new Set([";"]), 1);
  const ignores = end < 0 ? undefined : ignoredBy(block, end + 1);
  if (!ignores) return undefined;
  const [statement, ...more] = splitStatements(block.text(1, end + 1));
  return statement && more.length === 0 ? { tokens: statement.tokens, ignores } : undefined;
}
