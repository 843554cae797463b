import type { SqlToken } from "./tokenize.ts";

/** Quotes an identifier. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Quotes an identifier with its schema. */
export function qualify(schema: string | undefined, name: string): string {
  return schema === undefined ? quoteName(name) : `${quoteName(schema)}.${quoteName(name)}`;
}

/** Formats a text as an SQL literal that does not depend on `standard_conforming_strings`. */
export function quoteLiteral(text: string): string {
  const escaped = text.replaceAll("'", "''");
  return escaped.includes("\\") ? `E'${escaped.replaceAll("\\", "\\\\")}'` : `'${escaped}'`;
}

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
