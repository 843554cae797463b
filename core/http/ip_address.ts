/** Bytes of an IPv4 address within its IPv6 form `::ffff:a.b.c.d` (RFC 4291, section 2.5.5.2). */
const MAPPED_PREFIX = "0,0,0,0,0,0,0,0,0,0,255,255";

/**
 * Parses an IP address.
 *
 * @param text An address without a port and without brackets.
 * @returns Its 16 bytes, those of IPv4 in the form `::ffff:a.b.c.d`; `undefined` if it is invalid.
 */
export function parseIpAddress(text: string): number[] | undefined {
  if (!text.includes(":")) {
    const bytes = parseIpv4(text);
    return bytes && [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, ...bytes];
  }
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  if (halves.length === 2 && halves[0].includes(".")) return undefined;
  const [head, tail] = halves.map(parseGroups);
  if (head === undefined) return undefined;
  if (halves.length === 1) return head.length === 16 ? head : undefined;
  if (tail === undefined || head.length + tail.length > 14) return undefined;
  return [...head, ...Array(16 - head.length - tail.length).fill(0), ...tail];
}

function parseIpv4(text: string): number[] | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  const bytes = parts.map((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) ? Number(part) : 256);
  return bytes.every((byte) => byte < 256) ? bytes : undefined;
}

/** Parses groups of hexadecimal digits. The last group can be an IPv4 address. */
function parseGroups(text: string): number[] | undefined {
  const bytes: number[] = [];
  const groups = text === "" ? [] : text.split(":");
  for (const [at, group] of groups.entries()) {
    if (group.includes(".")) {
      const last = at === groups.length - 1 ? parseIpv4(group) : undefined;
      if (last === undefined) return undefined;
      bytes.push(...last);
    } else {
      if (!/^[\da-f]{1,4}$/i.test(group)) return undefined;
      const value = parseInt(group, 16);
      bytes.push(value >> 8, value & 255);
    }
  }
  return bytes;
}

/** A block of addresses, in CIDR notation (RFC 4632; RFC 4291, section 2.3). */
export interface AddressBlock {
  readonly bytes: readonly number[];
  /** Length of the common prefix in bits, 0 to 128. */
  readonly prefix: number;
}

/**
 * Parses an address or a block such as `10.0.0.0/8` or `2001:db8::/32`.
 *
 * @param text The block.
 * @returns The block; `undefined` if it is invalid.
 */
export function parseAddressBlock(text: string): AddressBlock | undefined {
  const [address, length, ...rest] = text.split("/");
  const bytes = rest.length === 0 ? parseIpAddress(address) : undefined;
  if (bytes === undefined) return undefined;
  if (length === undefined) return { bytes, prefix: 128 };
  // the prefix of an IPv4 block follows the 96 bits of the mapped form
  const offset = address.includes(":") ? 0 : 96;
  const prefix = /^\d{1,3}$/.test(length) ? Number(length) + offset : 129;
  return prefix <= 128 ? { bytes, prefix } : undefined;
}

/**
 * Checks whether a block contains an address.
 *
 * @param block The block.
 * @param bytes The result of {@link parseIpAddress}.
 */
export function isInBlock(block: AddressBlock, bytes: readonly number[]): boolean {
  const { bytes: first, prefix } = block;
  // a short prefix belongs to IPv6, such as ::/0, which contains no IPv4 address
  if (prefix < 96 && isIpv4(bytes)) return false;
  const whole = prefix >> 3;
  for (let i = 0; i < whole; i++) if (bytes[i] !== first[i]) return false;
  const mask = 256 - (256 >> (prefix & 7)) & 255;
  return mask === 0 || (bytes[whole] & mask) === (first[whole] & mask);
}

function isIpv4(bytes: readonly number[]): boolean {
  return bytes.slice(0, 12).join() === MAPPED_PREFIX;
}

/**
 * Returns the part of an address that limits count by: an IPv4 address, or the first 64 bits of an
 * IPv6 address, because one client has all addresses of such a block (RFC 6177).
 *
 * @param address The result of `getClientAddress`.
 * @returns The address or the block, in one spelling: `203.0.113.7` or `2001:db8:0:0::/64`.
 */
export function getAddressPrefix(address: string): string {
  const bytes = parseIpAddress(address);
  if (bytes === undefined) return address;
  if (isIpv4(bytes)) return bytes.slice(12).join(".");
  const groups = [0, 2, 4, 6].map((at) => (bytes[at] << 8 | bytes[at + 1]).toString(16));
  return `${groups.join(":")}::/64`;
}
