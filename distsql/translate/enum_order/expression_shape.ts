import type { StatementReader } from "../../../sql/statement_reader.ts";
import type { Range } from "./operands.ts";

const BRANCHES: ReadonlySet<string> = new Set(["THEN", "ELSE"]);
const BRANCH_ENDS: ReadonlySet<string> = new Set(["WHEN", "ELSE", "END"]);

/** Returns the position of the `::` that casts the whole expression; else -1. */
export function findCast(reader: StatementReader, range: Range): number {
  let cast = -1;
  for (let at = range[0]; at < range[1]; at = reader.next(at)) if (reader.is(at, "::")) cast = at;
  return cast < 0 || isOperation(reader, range) ? -1 : cast;
}

/** Checks for a top-level operator that returns no enum. */
export function isOperation(reader: StatementReader, [from, to]: Range): boolean {
  let cases = 0;
  for (let at = from; at < to; at = reader.next(at)) {
    const key = reader.key(at);
    if (key === "CASE") cases++;
    else if (key === "END") cases--;
    if (cases > 0 || reader.token(at)?.kind !== "symbol") continue;
    if (!["(", ")", "[", "]", ".", ",", "::", "*"].includes(key)) return true;
  }
  return false;
}

/** Returns the values that a CASE may return. */
export function readBranches(reader: StatementReader, [from, to]: Range): Range[] {
  const branches: Range[] = [];
  for (let at = from + 1, depth = 0; at < to - 1; at = reader.next(at)) {
    if (reader.is(at, "CASE")) depth++;
    else if (reader.is(at, "END")) depth--;
    if (depth > 0 || !reader.isOneOf(at, BRANCHES)) continue;
    let end = at + 1;
    for (let inner = 0; end < to; end = reader.next(end)) {
      if (reader.is(end, "CASE")) inner++;
      else if (inner > 0 && reader.is(end, "END")) inner--;
      else if (inner === 0 && reader.isOneOf(end, BRANCH_ENDS)) break;
    }
    branches.push([at + 1, end]);
  }
  return branches;
}
