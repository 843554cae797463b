import type { SqlToken } from "./tokenize.ts";

const BEYOND_ASCII = /[\u0080-\uffff]/;

/** Upper case for words of plain ASCII: `ſelect` is no keyword, though JavaScript makes it SELECT. */
function getKey(token: SqlToken): string {
  if (token.kind === "word") {
    return BEYOND_ASCII.test(token.text) ? token.text : token.text.toUpperCase();
  }
  return token.kind === "symbol" ? token.text : "";
}

/**
 * Reads a statement by its significant tokens, spaces and comments left out. Positions count those tokens; a position
 * past the end reads as an empty key. A literal or a quoted name never reads as a keyword.
 */
export class StatementReader {
  /** How many significant tokens there are, without the closing semicolon. */
  readonly size: number;
  /** All tokens of the statement. */
  readonly tokens: readonly SqlToken[];
  /** For each significant token its place among all tokens. */
  readonly places: readonly number[];
  readonly #keys: readonly string[];
  #closings: ReadonlyMap<number, number> | undefined;

  /** @param tokens The tokens of one statement. */
  constructor(tokens: readonly SqlToken[]) {
    const places: number[] = [];
    const keys: string[] = [];
    for (let place = 0; place < tokens.length; place++) {
      const token = tokens[place];
      if (
        token.kind === "space" || token.kind === "line_comment" || token.kind === "block_comment"
      ) continue;
      places.push(place);
      keys.push(getKey(token));
    }
    this.tokens = tokens;
    this.places = places;
    this.#keys = keys;
    while (keys.at(-1) === ";") keys.pop();
    this.size = keys.length;
  }

  /** The keyword or symbol at a position, in upper case; empty for literals, quoted names and past the end. */
  key(at: number): string {
    return at >= 0 && at < this.size ? this.#keys[at] : "";
  }

  /** The token at a position, or `undefined` past the end. */
  token(at: number): SqlToken | undefined {
    return at >= 0 && at < this.size ? this.tokens[this.places[at]] : undefined;
  }

  /** Whether these keywords or symbols stand at a position, one after the other. */
  is(at: number, ...keys: string[]): boolean {
    for (let i = 0; i < keys.length; i++) if (this.key(at + i) !== keys[i]) return false;
    return true;
  }

  /** Whether one of the keywords stands at a position. */
  isOneOf(at: number, keys: ReadonlySet<string>): boolean {
    const key = this.key(at);
    return key !== "" && keys.has(key);
  }

  /** The position after the keywords when they stand there, else the position itself. */
  skip(at: number, ...keys: string[]): number {
    return this.is(at, ...keys) ? at + keys.length : at;
  }

  /** Whether a name, quoted or not, stands at a position. */
  isName(at: number): boolean {
    const kind = this.token(at)?.kind;
    return kind === "word" || kind === "quoted";
  }

  /** The position after a name with its qualifiers (`a.b.c`). */
  nameEnd(at: number): number {
    if (!this.isName(at)) return at;
    let end = at + 1;
    while (this.key(end) === "." && this.isName(end + 1)) end += 2;
    return end;
  }

  /** The position of the bracket that closes the one at a position; the end of the statement when none does. */
  closing(at: number): number {
    return (this.#closings ??= matchBrackets(this.#keys)).get(at) ?? this.size;
  }

  /** The next position on the same level: past a bracket and what it holds. */
  next(at: number): number {
    const key = this.key(at);
    return (key === "(" || key === "[" ? this.closing(at) : at) + 1;
  }

  /** The first position on the same level, from `from` up to `to`, that holds one of the keywords; else -1. */
  find(keys: ReadonlySet<string>, from: number, to: number = this.size): number {
    for (let at = from; at < to; at = this.next(at)) if (this.isOneOf(at, keys)) return at;
    return -1;
  }

  /** The ranges between the commas of a level, as `[from, to)`; none when the range is empty. */
  list(from: number, to: number): [number, number][] {
    if (from >= to) return [];
    const items: [number, number][] = [];
    let start = from;
    for (let at = from; at < to; at = this.next(at)) {
      if (this.key(at) !== ",") continue;
      items.push([start, at]);
      start = at + 1;
    }
    items.push([start, to]);
    return items;
  }

  /** The text from one position up to another, as written. */
  text(from: number, to: number): string {
    if (from >= to || from >= this.size) return "";
    const last = this.places[Math.min(to, this.size) - 1];
    let text = "";
    for (let place = this.places[from]; place <= last; place++) text += this.tokens[place].text;
    return text;
  }
}

function matchBrackets(keys: readonly string[]): Map<number, number> {
  const closings = new Map<number, number>();
  const open: number[] = [];
  for (let at = 0; at < keys.length; at++) {
    const key = keys[at];
    if (key === "(" || key === "[") open.push(at);
    else if (key === ")" || key === "]") {
      const start = open.pop();
      if (start !== undefined) closings.set(start, at);
    }
  }
  return closings;
}
