import type { SqlToken } from "./tokenize.ts";
import type { StatementReader } from "./statement_reader.ts";

/** Symbols that need no space on one side, so that taking out a clause leaves neat text. */
const NO_SPACE_BEFORE: ReadonlySet<string> = new Set([")", "]", ",", ";", ".", "(", "["]);
const NO_SPACE_AFTER: ReadonlySet<string> = new Set(["(", "[", "."]);

/**
 * Changes to a statement, by the positions of its reader. What is not named stays as written; comments always stay.
 */
export class TokenEdits {
  readonly #reader: StatementReader;
  readonly #removed: Set<number> = new Set();
  readonly #before: Map<number, string> = new Map();
  readonly #after: Map<number, string> = new Map();

  /** @param reader The statement that is changed. */
  constructor(reader: StatementReader) {
    this.#reader = reader;
  }

  /** Whether nothing is changed. */
  get isEmpty(): boolean {
    return this.#removed.size === 0 && this.#before.size === 0 && this.#after.size === 0;
  }

  /** Takes out the tokens from one position up to another. */
  remove(from: number, to: number): void {
    for (let at = from; at < to; at++) this.#removed.add(this.#reader.places[at]);
  }

  /** Puts text in the place of the tokens from one position up to another. */
  replace(from: number, to: number, text: string): void {
    this.remove(from, to);
    this.#put(this.#before, from, text);
  }

  /** Puts text before a token; spaces are the caller's. */
  insertBefore(at: number, text: string): void {
    this.#put(this.#before, at, text);
  }

  /** Puts text right after a token; spaces are the caller's. */
  insertAfter(at: number, text: string): void {
    this.#put(this.#after, at, text);
  }

  #put(texts: Map<number, string>, at: number, text: string): void {
    const place = this.#reader.places[at];
    texts.set(place, (texts.get(place) ?? "") + text);
  }

  /** The changed text of the statement, or of the tokens from one position up to another. */
  apply(from?: number, to?: number): string {
    const { tokens, places } = this.#reader;
    const first = from === undefined ? 0 : places[from];
    const last = to === undefined ? tokens.length : places[to - 1] + 1;
    let text = "";
    // Without the space that a clause at the end may leave; text is put after a slice, which no comment may swallow.
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

  /** A space goes with the token after it, but never the line break that ends a line comment. */
  #vanishesWithNext(place: number): boolean {
    const next = place + 1;
    const goes = this.#removed.has(next) && !this.#before.has(next);
    const previous: SqlToken | undefined = this.#reader.tokens[place - 1];
    return goes && previous !== undefined && previous.kind !== "line_comment";
  }
}

function needsSpace(before: string, after: string): boolean {
  const last = before.at(-1);
  if (last === undefined || /\s/.test(last) || /\s/.test(after[0])) return false;
  return !NO_SPACE_AFTER.has(last) && !NO_SPACE_BEFORE.has(after[0]);
}
