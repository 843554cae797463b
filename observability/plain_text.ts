/**
 * Words of up to 16 letters with a space between them, the code of an error such as `NOT_FOUND`, or an
 * id in the format of UUIDs.
 */
const PLAIN =
  /^(?:(?:[A-Za-z]{1,16}(?: |$))*|[A-Z]{1,16}(?:_[A-Z]{1,16})+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
/** Names of schemes, which credentials follow after a space. */
const SCHEME = /bearer|basic/i;

/**
 * Checks whether a text is so simple that it contains no secret. Most messages are, and a function
 * that `trellis build` has built then needs no patterns of secrets.
 *
 * @param text Any text.
 * @returns True if `redactText` and `redactDocument` return the text unchanged.
 */
export function isPlainText(text: string): boolean {
  return text.length <= 200 && PLAIN.test(text) && !SCHEME.test(text);
}
