const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/**
 * Escapes a text for HTML: for contents of elements and for quoted attributes.
 *
 * @param text The text.
 * @returns HTML.
 *
 * @example
 * ```ts
 * import { escapeHtml } from "@trellis/fn/mail";
 *
 * console.log(escapeHtml("<b>Ada & Bob</b>")); // &lt;b&gt;Ada &amp; Bob&lt;/b&gt;
 * ```
 */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]);
}
