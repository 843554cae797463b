/** Escapes a text for HTML content and quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** Renders a subset of CommonMark: paragraphs and inline code. */
export function renderProse(text: string): string {
  return text.trim().split(/\n\s*\n/).map((paragraph) => `<p>${renderInline(paragraph)}</p>`).join(
    "\n",
  );
}

/** Renders a line of CommonMark with inline code. */
export function renderInline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}
