/**
 * Returns the words of a text that are separated by spaces or line breaks. Long lists of keywords
 * are shorter this way than with one quoted word per line.
 *
 * @param text The words.
 */
export function listWords(text: string): string[] {
  return text.trim().split(/\s+/);
}

/**
 * Returns a set of keywords.
 *
 * @param text The keywords, as for {@link listWords}.
 */
export function keywordSet(text: string): ReadonlySet<string> {
  return new Set(listWords(text));
}
