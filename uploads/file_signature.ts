/** Bytes at the beginning of a file, at an offset. */
type Signature = readonly (readonly [offset: number, bytes: string])[];

/**
 * Signatures of media types, as Latin-1 text. Source: MIME Sniffing Standard, WHATWG, sections 6.1 and 6.2;
 * ISO 32000-2, 7.5.2 (2026-11).
 */
const SIGNATURES: Readonly<Record<string, readonly Signature[]>> = {
  "application/gzip": [[[0, "\x1f\x8b\x08"]]],
  "application/pdf": [[[0, "%PDF-"]]],
  "application/zip": [[[0, "PK\x03\x04"]], [[0, "PK\x05\x06"]]],
  "image/gif": [[[0, "GIF87a"]], [[0, "GIF89a"]]],
  "image/jpeg": [[[0, "\xff\xd8\xff"]]],
  "image/png": [[[0, "\x89PNG\r\n\x1a\n"]]],
  "image/webp": [[[0, "RIFF"], [8, "WEBPVP"]]],
};

/** Bytes that {@link hasSignature} looks at. */
export const SIGNATURE_BYTES = 16;

/**
 * Checks whether a file begins as its media type says.
 *
 * @param type The media type.
 * @param head The first {@link SIGNATURE_BYTES} bytes, fewer in a smaller file.
 * @returns True if it does, or if nothing is known of the type.
 */
export function hasSignature(type: string, head: Uint8Array): boolean {
  const signatures = Object.hasOwn(SIGNATURES, type) ? SIGNATURES[type] : undefined;
  if (signatures === undefined) return true;
  const text = String.fromCharCode(...head.subarray(0, SIGNATURE_BYTES));
  return signatures.some((parts) => parts.every(([at, bytes]) => text.startsWith(bytes, at)));
}
