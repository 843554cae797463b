import { isTrivia, type SqlToken, tokenize } from "./tokenize.ts";

const BEYOND_ASCII = /[\u0080-\uffff]/;

/**
 * Converts words to upper case, only in ASCII: `ſelect` is not a keyword, although JavaScript
 * converts it to SELECT.
 */
function getKey(token: SqlToken): string {
  if (token.kind === "word") {
    return BEYOND_ASCII.test(token.text) ? token.text : token.text.toUpperCase();
  }
  return token.kind === "symbol" ? token.text : "";
}

/**
 * Reader of a statement's significant tokens, without spaces and comments. Positions count those
 * tokens; a position past the end has an empty key. Literals and quoted names are never keywords.
 */
export class StatementReader {
  /** Number of significant tokens, without the closing semicolon. */
  readonly size: number;
  /** All tokens of the statement. */
  readonly tokens: readonly SqlToken[];
  /** Index among all tokens, for each significant token. */
  readonly places: readonly number[];
  readonly #keys: readonly string[];
  #closings: ReadonlyMap<number, number> | undefined;

  /**
   * @param tokens Tokens of one statement.
   */
  constructor(tokens: readonly SqlToken[]) {
    const places: number[] = [];
    const keys: string[] = [];
    for (let place = 0; place < tokens.length; place++) {
      const token = tokens[place];
      if (isTrivia(token)) continue;
      places.push(place);
      keys.push(getKey(token));
    }
    this.tokens = tokens;
    this.places = places;
    this.#keys = keys;
    while (keys.at(-1) === ";") keys.pop();
    this.size = keys.length;
  }

  /** The statement as written, with its comments. */
  get source(): string {
    return this.tokens.map((token) => token.text).join("");
  }

  /**
   * Returns the keyword or symbol at a position in upper case; empty for literals, quoted names and
   * past the end.
   */
  key(at: number): string {
    return at >= 0 && at < this.size ? this.#keys[at] : "";
  }

  /** Returns the token at a position, or `undefined` past the end. */
  token(at: number): SqlToken | undefined {
    return at >= 0 && at < this.size ? this.tokens[this.places[at]] : undefined;
  }

  /** Checks for a sequence of keywords or symbols at a position. */
  is(at: number, ...keys: string[]): boolean {
    for (let i = 0; i < keys.length; i++) if (this.key(at + i) !== keys[i]) return false;
    return true;
  }

  /** Checks whether any of the keywords is at a position. */
  isOneOf(at: number, keys: ReadonlySet<string>): boolean {
    const key = this.key(at);
    return key !== "" && keys.has(key);
  }

  /** Returns the position after the keywords, or the position itself if they are missing. */
  skip(at: number, ...keys: string[]): number {
    return this.is(at, ...keys) ? at + keys.length : at;
  }

  /** Checks for a name at a position, quoted or not. */
  isName(at: number): boolean {
    const kind = this.token(at)?.kind;
    return kind === "word" || kind === "quoted";
  }

  /** Returns the position after a qualified name (`a.b.c`). */
  nameEnd(at: number): number {
    if (!this.isName(at)) return at;
    let end = at + 1;
    while (this.key(end) === "." && this.isName(end + 1)) end += 2;
    return end;
  }

  /**
   * Returns the position of the closing bracket for one at a position; the end of the statement if
   * there is none.
   */
  closing(at: number): number {
    return (this.#closings ??= matchBrackets(this.#keys)).get(at) ?? this.size;
  }

  /** Returns the next position on the same level, skipping the content of brackets. */
  next(at: number): number {
    const key = this.key(at);
    return (key === "(" || key === "[" ? this.closing(at) : at) + 1;
  }

  /**
   * Returns the first position on the same level in `[from, to)` with the keyword, or one of the
   * keywords; else -1.
   */
  find(keys: string | ReadonlySet<string>, from: number, to: number = this.size): number {
    for (let at = from; at < to; at = this.next(at)) {
      if (typeof keys === "string" ? this.key(at) === keys : this.isOneOf(at, keys)) return at;
    }
    return -1;
  }

  /** Returns the same position, or the end of the range if it has no keyword. */
  findEnd(keys: string | ReadonlySet<string>, from: number, to: number = this.size): number {
    const at = this.find(keys, from, to);
    return at < 0 ? to : at;
  }

  /** Returns the position of the table's name in ALTER TABLE, after IF EXISTS and ONLY. */
  alteredTableAt(): number {
    return this.skip(this.skip(2, "IF", "EXISTS"), "ONLY");
  }

  /** Returns the end of the names in DROP, before CASCADE or RESTRICT. */
  droppedEnd(): number {
    const last = this.size - 1;
    return this.is(last, "CASCADE") || this.is(last, "RESTRICT") ? last : this.size;
  }

  /**
   * Returns the ranges between the commas of a level, as `[from, to)`; empty for an empty range.
   */
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

  /** Returns the ranges between the commas inside of the bracket at a position. */
  listIn(open: number): [number, number][] {
    return this.list(open + 1, this.closing(open));
  }

  /** Returns the text of a range, as written. */
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

/**
 * Parses one statement.
 *
 * @param sql The statement.
 */
export function parseStatement(sql: string): StatementReader {
  return new StatementReader(tokenize(sql));
}
