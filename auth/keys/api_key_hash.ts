import { encodeBase64Url } from "../../core/http/base64.ts";
import { builtinModule } from "../../env/builtin_module.ts";

/** Returns the SHA-256 of a key in base64url without padding, as better-auth's plugin stores it. */
export type KeyHash = (key: string) => string | Promise<string>;

/** Uses Web Crypto, which hashes on another thread. */
export async function webKeyHash(key: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  return encodeBase64Url(new Uint8Array(digest));
}

/** Uses `node:crypto` on Node, Deno and Bun: the same result on the current thread. */
export function nodeKeyHash({ createHash }: typeof import("node:crypto")): KeyHash {
  return (key) => createHash("sha256").update(key).digest("base64url");
}

let engine: KeyHash | undefined;

/** Hashes a key, with `node:crypto` if it exists. */
export function hashKey(key: string): string | Promise<string> {
  return (engine ??= pickEngine())(key);
}

function pickEngine(): KeyHash {
  const nodeCrypto = builtinModule("node:crypto");
  return nodeCrypto === undefined ? webKeyHash : nodeKeyHash(nodeCrypto);
}
