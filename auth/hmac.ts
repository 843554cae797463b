import { decodeBase64 } from "../core/http/base64.ts";
import { timingSafeEqual } from "../core/http/timing_safe_equal.ts";
import { builtinModule } from "../env/builtin_module.ts";

/** A hash that webhooks are signed with. */
export type HmacAlgorithm = "sha1" | "sha256" | "sha384" | "sha512";

/** Length of each algorithm's result in bytes. */
export const HMAC_BYTES: Readonly<Record<HmacAlgorithm, number>> = {
  sha1: 20,
  sha256: 32,
  sha384: 48,
  sha512: 64,
};

/** A secret as text: its UTF-8 bytes are the key, or what its base64 stands for. */
export interface HmacSecret {
  /** The text. */
  readonly text: string;
  /** How the text becomes a key. */
  readonly encoding: "utf8" | "base64";
}

/** Computes an HMAC (RFC 2104) over parts that follow one another. */
export type HmacEngine = (
  algorithm: HmacAlgorithm,
  key: HmacKey,
  parts: readonly (string | Uint8Array)[],
) => Uint8Array | Promise<Uint8Array>;

/** A secret's key, in the forms that were asked for so far. */
export interface HmacKey {
  /** The key itself. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The key as Web Crypto has it, by algorithm. */
  readonly imported: Map<HmacAlgorithm, Promise<CryptoKey>>;
  /** The key as `node:crypto` has it. */
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

/** One run of bytes, for an API that takes no parts; a body is copied once at most. */
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

/** The portable way. Its trip to a thread pool costs 15 to 90 µs, whatever the size. */
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

/** The way of Node, Deno and Bun: the same result without leaving the thread. */
export function nodeHmac({ createHmac, createSecretKey }: NodeCrypto): HmacEngine {
  return function hmac(algorithm, key, parts): Uint8Array {
    // given as bytes, Node 24 makes a key object of them in every call, which costs 10 µs
    const mac = createHmac(algorithm, key.secretKey ??= createSecretKey(key.bytes));
    for (const part of parts) mac.update(part);
    return mac.digest();
  };
}

let engine: HmacEngine | undefined;

/** Picks the engine: Node's where it is at hand. It is asked for, not imported, so that start-up does not pay for it. */
function pickEngine(): HmacEngine {
  const nodeCrypto = builtinModule("node:crypto");
  return nodeCrypto === undefined ? webHmac : nodeHmac(nodeCrypto);
}

/**
 * Sets the engine, for tests that compare the two.
 *
 * @param next The engine, or `undefined` for the automatic choice.
 */
export function setHmacEngine(next: HmacEngine | undefined): void {
  engine = next;
}

/**
 * Whether one of the signatures was made with one of the secrets. Every comparison takes the same time.
 *
 * @param algorithm The hash.
 * @param secrets The secrets that count: several while one is being replaced.
 * @param parts The signed bytes, in parts that follow one another.
 * @param signatures Raw signatures.
 * @returns `true` when one matches: at once where the engine need not wait.
 */
export function verifyHmac(
  algorithm: HmacAlgorithm,
  secrets: readonly HmacSecret[],
  parts: readonly (string | Uint8Array)[],
  signatures: readonly Uint8Array[],
): boolean | Promise<boolean> {
  const sign = engine ??= pickEngine();
  const expected = secrets.map((secret) => sign(algorithm, getKey(secret), parts));
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
