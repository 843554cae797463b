/** Text skipped before and between words: spaces, comments, quoted texts and names. */
const SKIPPED =
  /(?:\s+|--[^\n]*|\/\*[\s\S]*?\*\/|\$([a-z_]*)\$[\s\S]*?\$\1\$|'(?:[^']|'')*'|"(?:[^"]|"")*")/iy;

const WORD = /[a-z_][a-z0-9_$]*/iy;

const MAIN_VERBS: ReadonlySet<string> = new Set([
  "SELECT",
  "INSERT",
  "UPDATE",
  "DELETE",
  "MERGE",
  "VALUES",
  "TABLE",
]);

/** Commands whose tag has another first word. */
const TAGS: Readonly<Record<string, string>> = { VALUES: "SELECT", TABLE: "SELECT" };

/** Commands whose tag counts rows. */
const COUNTING: ReadonlySet<string> = new Set([
  "SELECT",
  "INSERT",
  "UPDATE",
  "DELETE",
  "MERGE",
  "FETCH",
  "MOVE",
  "COPY",
]);

/**
 * Returns the first word of the server's command tag for a statement. The Data API does not report
 * tags.
 *
 * @param text One statement.
 * @returns The word in upper case; empty if there is none.
 */
export function readCommand(text: string): string {
  let depth = 0;
  let isWith = false;
  for (let at = 0; at < text.length;) {
    const word = matchAt(WORD, text, at)?.toUpperCase();
    if (word !== undefined && (!isWith || (depth === 0 && MAIN_VERBS.has(word)))) {
      if (word !== "WITH") return TAGS[word] ?? word;
      isWith = true;
    }
    if (isWith && text[at] === "(") depth++;
    if (isWith && text[at] === ")") depth--;
    at += (word ?? matchAt(SKIPPED, text, at) ?? text[at]).length;
  }
  return isWith ? "SELECT" : "";
}

/**
 * Checks whether a command's tag contains a number of rows.
 *
 * @param command A result of {@link readCommand}.
 */
export function countsRows(command: string): boolean {
  return COUNTING.has(command);
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}
