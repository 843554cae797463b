/** Headers of a request: an object with names in any case, or `Headers`. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | undefined>>;

/**
 * Returns a header.
 *
 * @param headers The request's headers.
 * @param name The name in lower case.
 * @returns The value, or `undefined`.
 */
export function findHeader(headers: WebhookHeaders, name: string): string | null | undefined {
  if (!headers) return undefined; // null in a manual invocation
  if (typeof headers.get === "function") return (headers as Headers).get(name);
  const plain = headers as Readonly<Record<string, string | undefined>>;
  return plain[name] ?? plain[Object.keys(plain).find((key) => key.toLowerCase() === name) ?? name];
}
