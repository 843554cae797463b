import { getName } from "../../sql/sql_name.ts";
import { type SqlToken, tokenize } from "../../sql/tokenize.ts";
import { getDollarBody, PLACEHOLDER } from "./sql_tables.ts";
import type { TableName } from "./values.ts";

/** A privilege on a sequence. */
export type SequencePrivilege = "USAGE" | "UPDATE";

/** A use of a sequence in SQL text. */
export interface SqlSequence {
  /** `nextval` */
  readonly caller: string;
  /** The sequence; `undefined` if the text does not show which. */
  readonly sequence?: TableName;
  readonly privilege: SequencePrivilege;
}

/** The privileges that functions need on their sequence (PostgreSQL 18, "Sequence Manipulation Functions"). */
const FUNCTIONS: Readonly<Record<string, SequencePrivilege>> = {
  currval: "USAGE",
  nextval: "USAGE",
  setval: "UPDATE",
};

/**
 * Finds the sequences that SQL advances, reads or sets.
 *
 * @param sql Statements; {@link PLACEHOLDER} replaces unknown parts.
 */
export function readSqlSequences(sql: string): SqlSequence[] {
  const tokens = tokenize(sql).filter(({ kind }) => kind !== "space" && !kind.endsWith("comment"));
  return tokens.flatMap((token, at): SqlSequence[] => {
    // the body of a DO block, in which functions are called too
    if (token.kind === "string" && token.text.startsWith("$")) {
      return readSqlSequences(getDollarBody(token.text));
    }
    const caller = token.kind === "word" ? token.text.toLowerCase() : "";
    if (!Object.hasOwn(FUNCTIONS, caller) || tokens[at + 1]?.text !== "(") return [];
    const sequence = parseArgument(tokens[at + 2], tokens[at + 3]);
    return [{ caller, privilege: FUNCTIONS[caller], ...sequence && { sequence } }];
  });
}

/** Parses the argument: a plain literal, alone or cast. */
function parseArgument(
  literal: SqlToken | undefined,
  next: SqlToken | undefined,
): TableName | undefined {
  if (literal?.kind !== "string" || !/^'.*'$/s.test(literal.text)) return undefined;
  if (![")", ",", "::"].includes(next?.text ?? "")) return undefined;
  const text = literal.text.slice(1, -1).replaceAll("''", "'");
  if (text.includes(PLACEHOLDER)) return undefined;
  const names = tokenize(text);
  const [first, dot, last] = names;
  if (names.some(({ kind, text: part }) => kind !== "word" && kind !== "quoted" && part !== ".")) {
    return undefined;
  }
  if (names.length === 1) return { name: getName(first) };
  return names.length === 3 && dot.text === "."
    ? { schema: getName(first), name: getName(last) }
    : undefined;
}
