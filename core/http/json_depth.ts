/**
 * Returns whether the arrays and objects of a JSON text are nested in each other over more levels than a limit. Nothing
 * is parsed and nothing is called recursively, so that a hostile text costs no more than its length.
 *
 * @param text The text. For text that is not JSON the result has no meaning.
 * @param maxLevels The limit.
 */
export function isNestedDeeper(text: string, maxLevels: number): boolean {
  return hasMoreOpeners(text, maxLevels) && measuresDeeper(text, maxLevels);
}

const OPENERS = ["[", "{"] as const;

/** Counts the brackets, also those in strings: few texts have enough of them to be worth a closer look. */
function hasMoreOpeners(text: string, limit: number): boolean {
  // each level opens and closes
  if (text.length <= 2 * limit) return false;
  let count = 0;
  for (const opener of OPENERS) {
    for (let at = text.indexOf(opener); at >= 0; at = text.indexOf(opener, at + 1)) {
      if (++count > limit) return true;
    }
  }
  return false;
}

const QUOTE = 0x22,
  BACKSLASH = 0x5c,
  OPEN_ARRAY = 0x5b,
  CLOSE_ARRAY = 0x5d,
  OPEN_OBJECT = 0x7b,
  CLOSE_OBJECT = 0x7d;

function measuresDeeper(text: string, maxLevels: number): boolean {
  let depth = 0;
  let isString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) isString = !isString;
    else if (isString) at += code === BACKSLASH ? 1 : 0;
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      if (++depth > maxLevels) return true;
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) depth--;
  }
  return false;
}
