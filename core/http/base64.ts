import { builtinModule } from "../../env/builtin_module.ts";

/**
 * Decodes base64 text (RFC 4648, sections 4 and 5). Padding may be missing, and characters
 * of no base64 alphabet are passed over, on every runtime.
 *
 * @returns The bytes.
 */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  // ten times as fast as atob() for a large body
  const buffer = builtinModule("node:buffer");
  if (buffer === undefined) return decodeByWebStandards(text);
  const bytes = buffer.Buffer.from(text, "base64");
  return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
}

/** {@link decodeBase64} for runtimes without `node:buffer`. */
export function decodeByWebStandards(text: string): Uint8Array<ArrayBuffer> {
  const [content] = text.split("=", 1);
  const letters = content.replaceAll("-", "+").replaceAll("_", "/").replace(/[^A-Za-z0-9+/]/g, "");
  // a single last letter encodes less than a byte
  const whole = letters.length % 4 === 1 ? letters.slice(0, -1) : letters;
  return Uint8Array.from(atob(whole), (char) => char.charCodeAt(0));
}

/**
 * Returns bytes as base64, with padding (RFC 4648, section 4).
 *
 * @returns The text.
 */
export function encodeBase64(bytes: Uint8Array): string {
  let text = "";
  // String.fromCharCode takes its characters as arguments, of which there can be too many
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return btoa(text);
}

/** Returns bytes as base64 for addresses and file names, without padding (RFC 4648, section 5). */
export function encodeBase64Url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
