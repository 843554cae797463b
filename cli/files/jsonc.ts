// without its last quotation mark it ends with the line, so that the search does not begin again in it
const STRING = /"(?:[^"\\\n]|\\.)*"?/.source;
const COMMENTS = new RegExp(String.raw`${STRING}|//[^\n]*|/\*[\s\S]*?(?:\*/|$)`, "g");
const TRAILING_COMMAS = new RegExp(String.raw`${STRING}|,(?=\s*[}\]])`, "g");

/**
 * Parses JSON that may contain comments and trailing commas, as in deno.jsonc and tsconfig.json.
 *
 * @throws {SyntaxError} If the text is invalid.
 */
export function parseJsonc(text: string): unknown {
  const keepStrings = (found: string) => found.startsWith('"') ? found : " ";
  return JSON.parse(
    text.replace(/^\uFEFF/, "").replace(COMMENTS, keepStrings).replace(
      TRAILING_COMMAS,
      keepStrings,
    ),
  );
}
