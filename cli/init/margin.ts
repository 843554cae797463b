/**
 * A text of a new project, out of the program's own text: each line begins with a bar, so that neither people nor tools take
 * its imports for the program's.
 *
 * @param text The text, each line behind a `|`.
 */
export function withoutMargin(text: string): string {
  return text.replace(/^\|/gm, "");
}
