/** The owner and the id in the key of an uploaded file. */
export interface UploadKey {
  /** The owner, as the function that created the upload named it. */
  readonly owner: string;
  /** Id of the upload, a UUID. */
  readonly id: string;
}

/** Characters that are the same in a key, a URL and a header. */
const OWNER = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/;
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Checks for an owner: 1 to 128 letters, digits, dots, hyphens and underscores. */
export function isOwner(value: unknown): value is string {
  return typeof value === "string" && OWNER.test(value);
}

/**
 * Returns the key of a file.
 *
 * @param prefix The prefix of the upload's keys, without a slash at its end.
 * @param key Owner and id.
 */
export function formatUploadKey(prefix: string, { owner, id }: UploadKey): string {
  return `${prefix}/${owner}/${id}`;
}

/**
 * Parses the key of a file.
 *
 * @param prefix The prefix of the upload's keys.
 * @param key The key.
 * @returns Owner and id, or `undefined` for a key that `formatUploadKey` does not write.
 */
export function parseUploadKey(prefix: string, key: string): UploadKey | undefined {
  if (!key.startsWith(`${prefix}/`)) return undefined;
  const [owner, id, ...others] = key.slice(prefix.length + 1).split("/");
  return others.length === 0 && isOwner(owner) && ID.test(id ?? "") ? { owner, id } : undefined;
}
