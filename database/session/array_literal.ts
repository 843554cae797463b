/** Array items: values, NULLs, and arrays of the next dimension. */
export type ArrayItem<T> = T | null | ArrayItem<T>[];

/**
 * Parses PostgreSQL's text form of an array, such as `{a,"b,c",NULL}` or `[0:1]={1,2}` (PostgreSQL
 * 18, section 8.15.6).
 *
 * @param text The array.
 * @param readItem Parses an item; not called for NULL.
 * @param delimiter Separator of items: a comma for all types but `box`.
 * @returns The items; dimensions become nested arrays, lower bounds are dropped.
 *
 * @example
 * ```ts
 * import { parseArray } from "./array_literal.ts";
 *
 * console.log(parseArray("{{1,NULL},{3,4}}", Number)); // [[1, null], [3, 4]]
 * ```
 */
export function parseArray<T>(
  text: string,
  readItem: (item: string) => T,
  delimiter = ",",
): ArrayItem<T>[] {
  // bounds come first if a lower bound is not 1
  const start = text.charCodeAt(0) === BRACKET ? text.indexOf("=") + 1 : 0;
  const items: ArrayItem<T>[] = [];
  readItems(items, text, start + 1, readItem, delimiter);
  return items;
}

/** Reads the items after an opening brace. Returns the position after the closing one. */
function readItems<T>(
  items: ArrayItem<T>[],
  text: string,
  from: number,
  readItem: (item: string) => T,
  delimiter: string,
): number {
  let at = from;
  while (at < text.length) {
    const char = text[at];
    if (char === "}") return at + 1;
    if (char === "{") {
      const inner: ArrayItem<T>[] = [];
      items.push(inner);
      at = readItems(inner, text, at + 1, readItem, delimiter);
    } else if (char === delimiter) {
      at++;
    } else if (char === '"') {
      const end = findQuote(text, at + 1);
      items.push(readItem(unescape(text.slice(at + 1, end))));
      at = end + 1;
    } else {
      const end = findEnd(text, at, delimiter);
      const item = text.slice(at, end);
      items.push(item === "NULL" ? null : readItem(unescape(item)));
      at = end;
    }
  }
  return at;
}

const BRACKET = "[".charCodeAt(0);

function findQuote(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at;
}

function findEnd(text: string, from: number, delimiter: string): number {
  let at = from;
  while (at < text.length && text[at] !== delimiter && text[at] !== "}") {
    at += text[at] === "\\" ? 2 : 1;
  }
  return at;
}

function unescape(item: string): string {
  return item.includes("\\") ? item.replace(/\\([\s\S])/g, "$1") : item;
}

/**
 * Formats an array as PostgreSQL's text form.
 *
 * @param items The items; nested arrays become dimensions.
 * @param writeItem Formats an item; returns null for NULL.
 * @param delimiter Separator of items: a comma for all types but `box`.
 * @returns The array as a text.
 */
export function formatArray(
  items: readonly unknown[],
  writeItem: (item: unknown) => string | null,
  delimiter = ",",
): string {
  const texts = items.map((item) => {
    if (Array.isArray(item)) return formatArray(item, writeItem, delimiter);
    const text = writeItem(item);
    return text === null ? "NULL" : `"${text.replace(/[\\"]/g, "\\$&")}"`;
  });
  return `{${texts.join(delimiter)}}`;
}
