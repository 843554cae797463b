import type { SqlStatement } from "./statement.ts";
import { isTrivia } from "./tokenize.ts";

/** Position in a text, as counted by editors. */
export interface TextPosition {
  /** Line, from 1. CRLF is one line break. */
  readonly line: number;
  /** Column in characters, from 1: a character beyond the basic plane counts as one. */
  readonly column: number;
}

/**
 * Creates a function that converts offsets of a text to positions; scans the text once.
 *
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

/** Returns the offset of a statement's first word, after the comments before it. */
export function findFirstWord({ start, tokens }: SqlStatement): number {
  let at = start;
  for (const token of tokens) {
    if (!isTrivia(token)) break;
    at += token.text.length;
  }
  return at;
}

/** Removes a byte order mark, which some editors write first. */
export function stripMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}
