import { builtinModule } from "../../env/builtin_module.ts";

/**
 * Decodes base64 text (RFC 4648, sections 4 and 5). Padding may be missing, and characters
 * of no base64 alphabet are passed over.
 *
 * @returns The bytes.
 */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  const bytes = builtinModule("node:buffer")!.Buffer.from(text, "base64");
  return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
}

/**
 * Returns bytes as base64, with padding (RFC 4648, section 4).
 *
 * @returns The text.
 */
export function encodeBase64(bytes: Uint8Array): string {
  return builtinModule("node:buffer")!.Buffer.from(bytes).toString("base64");
}

/** Returns bytes as base64 for addresses and file names, without padding (RFC 4648, section 5). */
export function encodeBase64Url(bytes: Uint8Array): string {
  return builtinModule("node:buffer")!.Buffer.from(bytes).toString("base64url");
}
