const PREFIX = "x-amz-meta-";

/**
 * Returns the user-defined metadata among the headers of a request, or the fields of a form.
 *
 * @param entries Names in lower case, with their values.
 */
export function getMetadata(
  entries: readonly (readonly [string, string | string[] | undefined])[],
): Record<string, string> {
  const own = entries.filter(([name]) => name.startsWith(PREFIX));
  return Object.fromEntries(own.map(([name, value]) => [name.slice(PREFIX.length), `${value}`]));
}

/** Converts user-defined metadata to headers. */
export function toMetadataHeaders(
  metadata: Readonly<Record<string, string>>,
): Record<string, string> {
  const entries = Object.entries(metadata);
  return Object.fromEntries(entries.map(([name, value]) => [`${PREFIX}${name}`, value]));
}
