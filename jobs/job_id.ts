/**
 * Derives an id from texts: the same texts give the same id. It is a UUID of version 8 (RFC 9562,
 * section 5.8), the first 122 bits of their SHA-256.
 *
 * @param texts The texts; `["a", "b"]` and `["ab"]` give different ids.
 */
export async function hashToUuid(texts: readonly string[]): Promise<string> {
  const input = new TextEncoder().encode(JSON.stringify(texts));
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", input)).slice(0, 16);
  bytes[6] = bytes[6] & 0x0f | 0x80;
  bytes[8] = bytes[8] & 0x3f | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)]
    .join("-");
}
