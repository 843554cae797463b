/**
 * Removes the margin of a template: each line of a template begins with `|`, so that tools do not
 * mistake its imports for imports of this program.
 */
export function withoutMargin(text: string): string {
  return text.replace(/^\|/gm, "");
}
