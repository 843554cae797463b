/** The polynomial of CRC32C with its bits reversed (RFC 3720, appendix B.4). */
const POLYNOMIAL = 0x82f63b78;

let table: Uint32Array | undefined;

/**
 * Computes the CRC32C of a text in UTF-8.
 *
 * @param text The text.
 * @returns A number from 0 to 2^32 - 1.
 */
export function crc32c(text: string): number {
  table ??= buildTable();
  let crc = 0xffffffff;
  for (const byte of new TextEncoder().encode(text)) {
    crc = table[(crc ^ byte) & 0xff] ^ (crc >>> 8);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

function buildTable(): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    return crc;
  });
}
