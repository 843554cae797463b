const BRACKETS: Record<string, string> = { "[": "]", "{": "}", "(": ")", "<": ">" };
const QUOTE = /\\*["'`]/y;
const WORD = /[^&;,\s"'`<>()[\]{}]+/y;
/** A value in a URL ends at fewer characters. */
const URL_WORD = /[^&\s\\"'`<>]+/y;

/** The position of a value in a text. */
export interface ValueExtent {
  /** The end, with its closing quote. */
  readonly end: number;
  /** Opening quote, with its backslashes; empty if there is none. */
  readonly quote: string;
}

/**
 * Finds the end of a value: of what is in quotes or brackets, or of a word. What is not closed goes
 * on to the end of the text, which may have been cut.
 *
 * @param text Any text.
 * @param start Where the value begins.
 * @param isInUrl Whether it is the value of a query parameter.
 * @returns The extent, or `undefined` if there is no value.
 */
export function findValueExtent(
  text: string,
  start: number,
  isInUrl = false,
): ValueExtent | undefined {
  QUOTE.lastIndex = start;
  const quote = QUOTE.exec(text)?.[0];
  if (quote !== undefined) return { end: findQuoteEnd(text, start + quote.length, quote), quote };
  const closing = BRACKETS[text[start]];
  const end = closing === undefined ? -1 : findBracketEnd(text, start, closing);
  if (end >= 0) return { end, quote: "" };
  const word = isInUrl ? URL_WORD : WORD;
  word.lastIndex = closing === undefined ? start : start + 1;
  return word.test(text) ? { end: word.lastIndex, quote: "" } : undefined;
}

/** A doubled quote is part of the value, as in SQL. */
function findQuoteEnd(text: string, from: number, quote: string): number {
  const slashes = quote.length - 1;
  for (let at = from; at < text.length; at++) {
    let count = 0;
    while (text[at] === "\\") at++, count++;
    if (text[at] !== quote[slashes]) continue;
    if (slashes === 0 && count === 0 && text[at + 1] === quote) at++;
    else if (slashes === 0 ? count % 2 === 0 : count === slashes) return at + 1;
  }
  return text.length;
}

function findBracketEnd(text: string, start: number, closing: string): number {
  const opening = text[start];
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    if (text[at] === opening) depth++;
    else if (text[at] === closing && --depth === 0) return at + 1;
  }
  return closing === "]" || closing === "}" ? text.length : -1;
}
