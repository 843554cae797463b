import type { SqlStatement } from "./statement.ts";

/** A place in a text, as editors count it. */
export interface TextPosition {
  /** The line, from 1. CRLF is one line break. */
  readonly line: number;
  /** The column, from 1, in characters: a character beyond the basic plane counts as one. */
  readonly column: number;
}

/**
 * Reads the line breaks of a text once and gives the position of any of its offsets.
 *
 * @param text The text.
 * @returns A function from an offset to its position.
 */
export function createLocator(text: string): (offset: number) => TextPosition {
  const starts = [0];
  for (const { index, 0: lineBreak } of text.matchAll(/\r\n|\r|\n/g)) {
    starts.push(index + lineBreak.length);
  }
  return function locate(offset): TextPosition {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (starts[middle] <= offset) low = middle;
      else high = middle - 1;
    }
    let column = 1;
    for (const _character of text.slice(starts[low], offset)) column++;
    return { line: low + 1, column };
  };
}

/** The offset of a statement's first word, after the comments before it. */
export function findFirstWord({ start, tokens }: SqlStatement): number {
  let at = start;
  for (const { kind, text } of tokens) {
    if (kind !== "space" && kind !== "line_comment" && kind !== "block_comment") break;
    at += text.length;
  }
  return at;
}
