import type { StatementReader } from "../../../sql/statement_reader.ts";
import { endsOperand } from "./keywords.ts";

/** Range of positions, `[from, to)`. */
export type Range = readonly [from: number, to: number];

/** Returns the bracket that the one at a position closes; -1 if there is none. */
function opening(reader: StatementReader, close: number): number {
  let depth = 0;
  for (let at = close; at >= 0; at--) {
    const key = reader.key(at);
    if (key === ")" || key === "]") depth++;
    else if (key === "(" || key === "[") depth--;
    if (depth === 0) return at;
  }
  return -1;
}

/** Returns the start of the operand that ends before a position. */
export function operandStart(reader: StatementReader, end: number): number {
  let at = end;
  for (let cases = 0; at > 0;) {
    const key = reader.key(at - 1);
    if (key === ")" || key === "]") {
      const open = opening(reader, at - 1);
      if (open < 0) return at;
      at = open;
      continue;
    }
    if (key === "(" || key === "[") return at;
    if (key === "END") cases++;
    else if (key === "CASE" && cases > 0) cases--;
    else if (cases === 0 && endsOperand(key)) return at;
    at--;
  }
  return at;
}

/** Returns the end of the operand that starts at a position. */
export function operandEnd(
  reader: StatementReader,
  from: number,
  limit: number = reader.size,
): number {
  let cases = 0;
  let at = from;
  for (; at < limit; at = reader.next(at)) {
    const key = reader.key(at);
    if (key === ")" || key === "]") return at;
    if (key === "CASE") cases++;
    else if (key === "END" && cases > 0) cases--;
    else if (cases === 0 && endsOperand(key)) return at;
  }
  return Math.min(at, limit);
}

/** Removes the parentheses around an expression. */
export function unwrap(reader: StatementReader, [from, to]: Range): Range {
  while (reader.key(from) === "(" && reader.next(from) === to) {
    from++;
    to--;
  }
  return [from, to];
}
