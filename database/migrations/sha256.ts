import type { Buffer } from "node:buffer";
import { builtinModule } from "../../env/builtin_module.ts";

/**
 * SHA-256 of a text. `node:crypto` is asked for when it is needed and not imported: a function that has the database in its
 * package and never migrates does not pay for loading it.
 *
 * @param text Its UTF-8 bytes count.
 * @returns 32 bytes.
 */
export function sha256(text: string): Buffer {
  return builtinModule("node:crypto")!.createHash("sha256").update(text).digest();
}
