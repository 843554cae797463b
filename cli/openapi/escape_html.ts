/**
 * A text for any place of a page, attributes in quotes among them.
 *
 * @param text The text.
 */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

/**
 * CommonMark as far as a page without a program shows it: paragraphs and code in backticks.
 *
 * @param text The text.
 */
export function renderProse(text: string): string {
  return text.trim().split(/\n\s*\n/).map((paragraph) => `<p>${renderInline(paragraph)}</p>`).join(
    "\n",
  );
}

/**
 * A line of CommonMark: code in backticks.
 *
 * @param text The text.
 */
export function renderInline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}
