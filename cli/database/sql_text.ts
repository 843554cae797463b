/**
 * A name in quotes.
 *
 * @param name The name as the catalog has it.
 */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * A name with its schema, in quotes.
 *
 * @param schema The schema as the catalog has it.
 * @param name The name as the catalog has it.
 */
export function qualify(schema: string, name: string): string {
  return `${quoteName(schema)}.${quoteName(name)}`;
}

/**
 * A text as SQL literal; right whatever `standard_conforming_strings` is.
 *
 * @param text The text.
 */
export function quoteText(text: string): string {
  const escaped = text.replaceAll("'", "''");
  return escaped.includes("\\") ? `E'${escaped.replaceAll("\\", "\\\\")}'` : `'${escaped}'`;
}
