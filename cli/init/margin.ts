/**
 * Removes the margin of a template: each line of a template begins with `|`, so that tools do not
 * mistake its imports for imports of this program.
 */
export function withoutMargin(text: string): string {
  return text.replace(/^\|/gm, "");
}

/** Removes the margin of each file of a template. */
export function withoutMargins<Name extends string>(
  files: Readonly<Record<Name, string>>,
): Record<Name, string> {
  const entries = Object.entries<string>(files).map(([name, text]) => [name, withoutMargin(text)]);
  return Object.fromEntries(entries) as Record<Name, string>;
}
