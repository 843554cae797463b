import { getName } from "../../sql/sql_name.ts";
import { parseStatement, type StatementReader } from "../../sql/statement_reader.ts";
import { TokenEdits } from "../../sql/token_edits.ts";
import { TIME_FUNCTIONS } from "./known_functions.ts";
import { quoteLiteral } from "../../sql/quote.ts";

/** Keywords for the transaction's time, with the type of their value. */
const TIME_WORDS: Readonly<Record<string, string>> = {
  CURRENT_TIMESTAMP: "timestamp with time zone",
  CURRENT_DATE: "date",
  CURRENT_TIME: "time with time zone",
  LOCALTIMESTAMP: "timestamp without time zone",
  LOCALTIME: "time without time zone",
};

interface TimeCall {
  readonly from: number;
  readonly to: number;
  readonly type: string;
}

function findTimeCalls(reader: StatementReader): TimeCall[] {
  const calls: TimeCall[] = [];
  for (let at = 0; at < reader.size; at++) {
    if (reader.is(at - 1, ".")) continue;
    const key = reader.key(at);
    const word = Object.hasOwn(TIME_WORDS, key) ? TIME_WORDS[key] : undefined;
    if (word !== undefined) {
      const hasPrecision = reader.is(at + 1, "(") && reader.is(at + 3, ")");
      const type = hasPrecision ? word.replace(/^\w+/, `$&(${reader.text(at + 2, at + 3)})`) : word;
      calls.push({ from: at, to: hasPrecision ? at + 4 : at + 1, type });
      continue;
    }
    const end = reader.nameEnd(at);
    const isCall = end > at && reader.is(end, "(", ")") &&
      TIME_FUNCTIONS.has(getName(reader.token(end - 1)!));
    if (isCall) calls.push({ from: at, to: end + 2, type: "timestamp with time zone" });
  }
  return calls;
}

/** Checks whether a statement reads the time of its transaction. */
export function readsTime(sql: string): boolean {
  return findTimeCalls(parseStatement(sql)).length > 0;
}

/**
 * Replaces `now()` and similar calls by one moment, so that all batches of a statement use the same
 * time.
 *
 * @param sql The statement.
 * @param moment A timestamp with its offset, as PostgreSQL prints it.
 * @returns The statement with literals instead of the calls.
 */
export function freezeTime(sql: string, moment: string): string {
  const reader = parseStatement(sql);
  const edits = new TokenEdits(reader);
  for (const { from, to, type } of findTimeCalls(reader)) {
    edits.replace(from, to, `CAST(${quoteLiteral(moment)}::timestamptz AS ${type})`);
  }
  return edits.isEmpty ? sql : edits.apply();
}
