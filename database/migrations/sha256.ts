import type { Buffer } from "node:buffer";

type NodeCrypto = typeof import("node:crypto");

let nodeCrypto: NodeCrypto | undefined;

/**
 * SHA-256 of a text. `node:crypto` is asked for when it is needed and not imported, and `process` is taken from the global
 * scope: a function that has the database in its package and never migrates does not pay for loading them.
 *
 * @param text Its UTF-8 bytes count.
 * @returns 32 bytes.
 */
export function sha256(text: string): Buffer {
  const { process } = globalThis as unknown as { process: { getBuiltinModule(id: string): NodeCrypto } };
  nodeCrypto ??= process.getBuiltinModule("node:crypto");
  return nodeCrypto.createHash("sha256").update(text).digest();
}
