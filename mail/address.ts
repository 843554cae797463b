import { parseUrl } from "../core/http/parse_url.ts";

/** Address with an optional name. */
export interface MailAddress {
  /** Name that mail programs show; empty if there is none. */
  readonly name: string;
  /** `local@domain` in ASCII. */
  readonly address: string;
}

/** RFC 5321, section 4.5.3.1. */
const MAX_ADDRESS = 254;
const MAX_LOCAL = 64;
const MAX_LABEL = 63;
const MAX_NAME = 200;

/** Characters of a local part beside letters and digits (RFC 5322, section 3.2.3). */
const ATOM = "!#$%&'*+-/=?^_`{|}~.";

/**
 * Parses an address such as `ada@example.com` or `Ada <ada@example.com>`. Names of domains in other scripts are converted to
 * their ASCII form.
 *
 * @param text The address.
 * @returns The address; `undefined` if it is invalid, such as one with a line break.
 */
export function parseAddress(text: string): MailAddress | undefined {
  if (hasControl(text)) return undefined;
  const trimmed = text.trim();
  const start = trimmed.lastIndexOf("<");
  if (start < 0) return createAddress("", trimmed);
  if (!trimmed.endsWith(">")) return undefined;
  const name = unquote(trimmed.slice(0, start).trim());
  return createAddress(name, trimmed.slice(start + 1, -1));
}

/**
 * Formats an address for a header. A name outside of ASCII becomes an encoded word (RFC 2047).
 *
 * @param address The address.
 */
export function formatAddress({ name, address }: MailAddress): string {
  if (name === "") return address;
  return `${isAscii(name) ? quote(name) : encodeWords(name)} <${address}>`;
}

/**
 * Checks for characters that could end a header.
 *
 * @param text The text.
 */
export function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    // C0, DEL, C1, and the line separators of Unicode
    if (code < 0x20 || (code >= 0x7f && code < 0xa0) || code === 0x2028 || code === 0x2029) {
      return true;
    }
  }
  return false;
}

function createAddress(name: string, address: string): MailAddress | undefined {
  const at = address.lastIndexOf("@");
  const local = address.slice(0, at);
  if (at < 1 || !isLocalPart(local) || name.length > MAX_NAME) return undefined;
  const domain = toAsciiDomain(address.slice(at + 1));
  if (domain === undefined || local.length + 1 + domain.length > MAX_ADDRESS) return undefined;
  return { name, address: `${local}@${domain}` };
}

function isLocalPart(local: string): boolean {
  if (local.length > MAX_LOCAL || local.startsWith(".") || local.endsWith(".")) return false;
  return !local.includes("..") &&
    [...local].every((one) => isWordCharacter(one) || ATOM.includes(one));
}

function toAsciiDomain(domain: string): string | undefined {
  const host = isAscii(domain) ? domain.toLowerCase() : parseUrl(`http://${domain}`)?.hostname;
  const labels = host?.split(".") ?? [];
  return labels.length > 1 && labels.every(isLabel) ? host : undefined;
}

function isLabel(label: string): boolean {
  return label !== "" && label.length <= MAX_LABEL && !label.startsWith("-") &&
    !label.endsWith("-") && [...label].every((one) => isWordCharacter(one) || one === "-");
}

function isWordCharacter(character: string): boolean {
  return (character >= "a" && character <= "z") || (character >= "A" && character <= "Z") ||
    (character >= "0" && character <= "9");
}

function isAscii(text: string): boolean {
  return [...text].every((one) => one.charCodeAt(0) < 0x80);
}

function unquote(name: string): string {
  const isQuoted = name.length > 1 && name.startsWith('"') && name.endsWith('"');
  return isQuoted ? name.slice(1, -1).replaceAll('\\"', '"').replaceAll("\\\\", "\\") : name;
}

function quote(name: string): string {
  return `"${name.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** Bytes of an encoded word: it may have 75 characters, with `=?UTF-8?B?` and `?=`. */
const WORD_BYTES = 45;

function encodeWords(text: string): string {
  const encoder = new TextEncoder();
  const words: string[] = [""];
  for (const character of text) {
    const longer = words[words.length - 1] + character;
    if (encoder.encode(longer).length > WORD_BYTES) words.push(character);
    else words[words.length - 1] = longer;
  }
  return words
    .map((word) => `=?UTF-8?B?${btoa(String.fromCharCode(...encoder.encode(word)))}?=`)
    .join(" ");
}
