/**
 * Returns the SHA-256 of a text.
 *
 * @returns The 32 bytes.
 */
export async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

/** Returns bytes as hexadecimal digits. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Derives an id from texts: the same texts give the same id. It is a UUID of version 8 (RFC 9562,
 * section 5.8), the first 122 bits of their SHA-256.
 *
 * @param texts The texts; `["a", "b"]` and `["ab"]` give different ids.
 */
export async function hashToUuid(texts: readonly string[]): Promise<string> {
  const bytes = (await sha256(JSON.stringify(texts))).slice(0, 16);
  bytes[6] = bytes[6] & 0x0f | 0x80;
  bytes[8] = bytes[8] & 0x3f | 0x80;
  return toHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
