import type { SqlToken } from "./tokenize.ts";
import type { StatementReader } from "./statement_reader.ts";

/** Symbols without a space on one side, so that removing a clause leaves clean text. */
const NO_SPACE_BEFORE: ReadonlySet<string> = new Set([")", "]", ",", ";", ".", "(", "["]);
const NO_SPACE_AFTER: ReadonlySet<string> = new Set(["(", "[", "."]);

/**
 * Edits of a statement, by the positions of its reader. All other text is not changed, and comments
 * are kept.
 */
export class TokenEdits {
  /** The statement to change. */
  readonly reader: StatementReader;
  readonly #removed: Set<number> = new Set();
  readonly #before: Map<number, string> = new Map();
  readonly #after: Map<number, string> = new Map();

  /**
   * @param reader The statement to change.
   */
  constructor(reader: StatementReader) {
    this.reader = reader;
  }

  /** True if nothing is changed. */
  get isEmpty(): boolean {
    return this.#removed.size === 0 && this.#before.size === 0 && this.#after.size === 0;
  }

  /** Removes the tokens of a range. */
  remove(from: number, to: number): void {
    for (let at = from; at < to; at++) this.#removed.add(this.reader.places[at]);
  }

  /** Replaces the tokens of a range. */
  replace(from: number, to: number, text: string): void {
    this.remove(from, to);
    this.#put(this.#before, from, text);
  }

  /** Inserts text before a token, without adding spaces. */
  insertBefore(at: number, text: string): void {
    this.#put(this.#before, at, text);
  }

  /** Inserts text after a token, without adding spaces. */
  insertAfter(at: number, text: string): void {
    this.#put(this.#after, at, text);
  }

  #put(texts: Map<number, string>, at: number, text: string): void {
    const place = this.reader.places[at];
    texts.set(place, (texts.get(place) ?? "") + text);
  }

  /** Returns the changed text of the statement, or of a range. */
  apply(from?: number, to?: number): string {
    const { tokens, places } = this.reader;
    const first = from === undefined ? 0 : places[from];
    const last = to === undefined ? tokens.length : places[to - 1] + 1;
    let text = "";
    // Trims trailing space of a removed clause. Text may be appended to a slice, so it must not end
    // in a comment.
    let end = 0;
    const isSlice = to !== undefined;
    let cut = false;
    for (let place = first; place < last; place++) {
      const token = tokens[place];
      const before = this.#before.get(place) ?? "";
      const isRemoved = this.#removed.has(place);
      if (token.kind === "space" && this.#vanishesWithNext(place)) {
        cut = true;
        continue;
      }
      const piece = before + (isRemoved ? "" : token.text) + (this.#after.get(place) ?? "");
      if (cut && piece !== "" && token.kind !== "space" && needsSpace(text, piece)) text += " ";
      text += piece;
      const ends = isSlice ? token.kind !== "line_comment" && token.kind !== "block_comment" : true;
      if (piece !== "" && token.kind !== "space" && ends) end = text.length;
      cut = piece === "" && (cut || isRemoved);
    }
    return text.slice(0, end);
  }

  /**
   * Checks whether a space is removed with the token after it; never true for the line break that
   * ends a line comment.
   */
  #vanishesWithNext(place: number): boolean {
    const next = place + 1;
    const goes = this.#removed.has(next) && !this.#before.has(next);
    const previous: SqlToken | undefined = this.reader.tokens[place - 1];
    return goes && previous !== undefined && previous.kind !== "line_comment";
  }
}

function needsSpace(before: string, after: string): boolean {
  const last = before.at(-1);
  if (last === undefined || /\s/.test(last) || /\s/.test(after[0])) return false;
  return !NO_SPACE_AFTER.has(last) && !NO_SPACE_BEFORE.has(after[0]);
}
