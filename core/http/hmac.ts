import { decodeBase64 } from "./base64.ts";
import { timingSafeEqual } from "./timing_safe_equal.ts";
import { builtinModule } from "../../env/builtin_module.ts";

/** A hash algorithm for webhook signatures. */
export type HmacAlgorithm = "sha1" | "sha256" | "sha384" | "sha512";

/** Digest length of each algorithm in bytes. */
export const HMAC_BYTES: Readonly<Record<HmacAlgorithm, number>> = {
  sha1: 20,
  sha256: 32,
  sha384: 48,
  sha512: 64,
};

/** A secret as text. The key is its UTF-8 bytes or its decoded base64. */
export interface HmacSecret {
  /** The text. */
  readonly text: string;
  /** Encoding of the key. */
  readonly encoding: "utf8" | "base64";
}

/** Computes an HMAC (RFC 2104) over consecutive parts. */
export type HmacEngine = (
  algorithm: HmacAlgorithm,
  key: HmacKey,
  parts: readonly (string | Uint8Array)[],
) => Uint8Array | Promise<Uint8Array>;

/** A secret's key, with cached forms for each engine. */
export interface HmacKey {
  /** The key bytes. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Keys for Web Crypto, by algorithm. */
  readonly imported: Map<HmacAlgorithm, Promise<CryptoKey>>;
  /** Key for `node:crypto`. */
  secretKey?: import("node:crypto").KeyObject;
}

const MAX_KEYS = 1000;
const keys: Readonly<Record<HmacSecret["encoding"], Map<string, HmacKey>>> = {
  utf8: new Map(),
  base64: new Map(),
};

function getKey({ text, encoding }: HmacSecret): HmacKey {
  const known = keys[encoding];
  let key = known.get(text);
  if (key === undefined) {
    const bytes = encoding === "utf8" ? new TextEncoder().encode(text) : decodeBase64(text);
    key = { bytes, imported: new Map(), secretKey: undefined };
    if (known.size >= MAX_KEYS) known.delete(known.keys().next().value as string);
    known.set(text, key);
  }
  return key;
}

/** Concatenates the parts for an API without streaming. A body is copied at most once. */
function toBytes(parts: readonly (string | Uint8Array)[]): Uint8Array<ArrayBuffer> {
  if (parts.length === 1 && typeof parts[0] !== "string") {
    return parts[0] as Uint8Array<ArrayBuffer>;
  }
  if (parts.every((part) => typeof part === "string")) {
    return new TextEncoder().encode(parts.join(""));
  }
  const pieces = parts.map((part) =>
    typeof part === "string" ? new TextEncoder().encode(part) : part
  );
  const whole = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** Uses Web Crypto. Its thread pool adds 15 to 90 µs, independent of the size. */
export async function webHmac(
  algorithm: HmacAlgorithm,
  key: HmacKey,
  parts: readonly (string | Uint8Array)[],
): Promise<Uint8Array> {
  let imported = key.imported.get(algorithm);
  if (imported === undefined) {
    const hash = algorithm.replace("sha", "SHA-");
    imported = crypto.subtle.importKey("raw", key.bytes, { name: "HMAC", hash }, false, ["sign"]);
    key.imported.set(algorithm, imported);
  }
  return new Uint8Array(await crypto.subtle.sign("HMAC", await imported, toBytes(parts)));
}

type NodeCrypto = typeof import("node:crypto");

/** Uses `node:crypto` on Node, Deno and Bun: the same result on the current thread. */
export function nodeHmac({ createHmac, createSecretKey }: NodeCrypto): HmacEngine {
  return function hmac(algorithm, key, parts): Uint8Array {
    // with bytes, Node 24 creates a key object in every call, which takes 10 µs
    const mac = createHmac(algorithm, key.secretKey ??= createSecretKey(key.bytes));
    for (const part of parts) mac.update(part);
    return mac.digest();
  };
}

let engine: HmacEngine | undefined;

/**
 * Selects the engine: `node:crypto` if it exists. It is requested, not imported, so that start-up
 * is not slowed down.
 */
function pickEngine(): HmacEngine {
  const nodeCrypto = builtinModule("node:crypto");
  return nodeCrypto === undefined ? webHmac : nodeHmac(nodeCrypto);
}

/**
 * Sets the engine, for tests that compare both.
 *
 * @param next The engine, or `undefined` for the automatic choice.
 */
export function setHmacEngine(next: HmacEngine | undefined): void {
  engine = next;
}

/**
 * Signs text with HMAC-SHA256.
 *
 * @param secret The secret, its UTF-8 bytes are the key.
 * @param text The text.
 * @returns The signature in hexadecimal digits.
 */
export async function signHmac(secret: string, text: string): Promise<string> {
  const bytes = await computeHmac("sha256", { text: secret, encoding: "utf8" }, [text]);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Computes an HMAC.
 *
 * @param algorithm The hash.
 * @param secret The secret.
 * @param parts The signed bytes in consecutive parts.
 * @returns The signature, synchronously if the engine allows it.
 */
export function computeHmac(
  algorithm: HmacAlgorithm,
  secret: HmacSecret,
  parts: readonly (string | Uint8Array)[],
): Uint8Array | Promise<Uint8Array> {
  const sign = engine ??= pickEngine();
  return sign(algorithm, getKey(secret), parts);
}

/**
 * Checks that a signature matches a secret. Comparisons take constant time.
 *
 * @param algorithm The hash.
 * @param secrets The accepted secrets, several during a rotation.
 * @param parts The signed bytes in consecutive parts.
 * @param signatures Raw signatures.
 * @returns `true` if one matches, synchronously if the engine allows it.
 */
export function verifyHmac(
  algorithm: HmacAlgorithm,
  secrets: readonly HmacSecret[],
  parts: readonly (string | Uint8Array)[],
  signatures: readonly Uint8Array[],
): boolean | Promise<boolean> {
  const expected = secrets.map((secret) => computeHmac(algorithm, secret, parts));
  return expected.every((each) => each instanceof Uint8Array)
    ? matchesAny(signatures, expected)
    : Promise.all(expected).then((all) => matchesAny(signatures, all));
}

function matchesAny(signatures: readonly Uint8Array[], expected: readonly Uint8Array[]): boolean {
  let matches = false;
  for (const each of expected) {
    for (const signature of signatures) matches = timingSafeEqual(signature, each) || matches;
  }
  return matches;
}
