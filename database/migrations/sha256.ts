import type { Buffer } from "node:buffer";
import { builtinModule } from "../../env/builtin_module.ts";

/**
 * Returns the SHA-256 of a text. Loads `node:crypto` on first use, so that functions that never
 * migrate do not pay for it.
 *
 * @param text The text; its UTF-8 bytes are hashed.
 * @returns 32 bytes.
 */
export function sha256(text: string): Buffer {
  return builtinModule("node:crypto")!.createHash("sha256").update(text).digest();
}
