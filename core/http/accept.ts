/**
 * Returns the weight of a name in a header such as `Accept` or `Accept-Encoding` (RFC 9110, section 12.4.2).
 *
 * @param header The header's value.
 * @param name The name in lower case: `application/json`, `gzip`, `*`.
 * @returns From 0, which refuses it, to 1; `undefined` if the header does not name it.
 */
export function getWeight(header: string, name: string): number | undefined {
  for (const range of header.split(",")) {
    const [given, ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    if (given !== name) continue;
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    return weight === undefined ? 1 : Number(weight.slice(2)) || 0;
  }
  return undefined;
}
