import { parseStatement } from "../../sql/statement_reader.ts";
import type { SqlToken } from "../../sql/tokenize.ts";

/** Returns the text of a string literal; `undefined` for one with backslash or Unicode escapes. */
export function readLiteral(token: SqlToken | undefined): string | undefined {
  if (token?.kind !== "string") return undefined;
  const { text } = token;
  const tag = /^\$[^$]*\$/.exec(text)?.[0];
  if (tag !== undefined) return text.slice(tag.length, -tag.length);
  const start = /^e'/i.test(text) && !text.includes("\\") ? 1 : 0;
  if (text[start] !== "'") return undefined;
  return text.slice(start + 1, -1).replaceAll("''", "'");
}

/** Returns the text of an expression that is a single string literal, with or without a cast. */
export function readLabel(expression: string | undefined): string | undefined {
  if (expression === undefined) return undefined;
  const reader = parseStatement(expression);
  const isPlain = reader.size === 1 || (reader.is(1, "::") && reader.nameEnd(2) === reader.size);
  if (isPlain) return readLiteral(reader.token(0));
  const isCast = reader.is(0, "CAST", "(") && reader.is(3, "AS") &&
    reader.nameEnd(4) + 1 === reader.size;
  return isCast ? readLiteral(reader.token(2)) : undefined;
}
