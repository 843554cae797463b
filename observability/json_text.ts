/** Returns a JSON string in which control characters are escaped: terminals act on them. */
export function quote(text: string): string {
  return escapeControls(JSON.stringify(text));
}

/**
 * Escapes the control characters that JSON allows, and those that turn the direction of a text:
 * a terminal would show a line in another order than it was written.
 */
export function escapeControls(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
