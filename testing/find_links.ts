/** Finds the http and https addresses in texts. */
export function findLinks(texts: readonly string[]): string[] {
  const found = texts.flatMap((text) =>
    Array.from(text.matchAll(/https?:\/\/[^\s"'<>]+/g), ([url]) => url.replaceAll("&amp;", "&"))
  );
  return [...new Set(found.map(withoutPunctuation))];
}

/** Removes the punctuation of a sentence from the end of an address. */
function withoutPunctuation(url: string): string {
  let end = url.length;
  while (".,;:!?)]".includes(url[end - 1])) end--;
  return url.slice(0, end);
}
