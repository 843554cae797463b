import { createHmac } from "node:crypto";

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/**
 * Computes the current code of an authenticator (RFC 6238, 6 digits, 30 seconds, SHA-1).
 *
 * @param uri The `otpauth:` address.
 */
export function computeTotp(uri: string, nowMs: number = Date.now()): string {
  const secret = new URL(uri).searchParams.get("secret")!;
  const bits = [...secret].map((letter) => BASE32.indexOf(letter).toString(2).padStart(5, "0"))
    .join("");
  const key = Uint8Array.from(
    { length: Math.floor(bits.length / 8) },
    (_, at) => parseInt(bits.slice(at * 8, at * 8 + 8), 2),
  );
  const counter = new DataView(new ArrayBuffer(8));
  counter.setBigUint64(0, BigInt(Math.floor(nowMs / 30_000)));
  const hash = createHmac("sha1", key).update(new Uint8Array(counter.buffer)).digest();
  const offset = hash[hash.length - 1] & 15;
  const number = hash.readUInt32BE(offset) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
}
