import { isTrivia, type SqlToken } from "./tokenize.ts";

const MAX_LENGTH = 72;
/** Statements that define objects; all others may contain row data. */
const DEFINITIONS: ReadonlySet<string> = new Set(["CREATE", "ALTER", "DROP", "GRANT", "REVOKE"]);

/**
 * Formats the beginning of a statement on one line for messages: without comments, with masked
 * strings, and outside of definitions only up to the first value, since a migration may contain
 * data.
 *
 * @param tokens Tokens of one statement.
 * @returns At most 72 characters, with an ellipsis if something is omitted.
 */
export function maskStatement(tokens: readonly SqlToken[]): string {
  let text = "";
  let isDefinition: boolean | undefined;
  for (const token of tokens) {
    const { kind } = token;
    if (isTrivia(token)) {
      if (text !== "" && !text.endsWith(" ")) text += " ";
      continue;
    }
    isDefinition ??= DEFINITIONS.has(token.text.toUpperCase());
    if (kind === "psql") return token.text.startsWith("\\") ? token.text.split(/\s/, 1)[0] : "…";
    const isValue = kind === "string" || kind === "number" || kind === "parameter";
    if (isValue && !isDefinition) return `${text}…`;
    text += kind === "string" ? "'…'" : token.text.replace(/\p{Cc}/gu, " ");
    if ([...text].length > MAX_LENGTH) return `${[...text].slice(0, MAX_LENGTH - 1).join("")}…`;
  }
  let end = text.length;
  while (text[end - 1] === " " || text[end - 1] === ";") end--;
  return text.slice(0, end);
}
