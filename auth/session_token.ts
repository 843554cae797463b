import { decodeBase64 } from "./webhook_input.ts";
import { HMAC_BYTES, verifyHmac } from "./hmac.ts";

/** What a header can carry as one word; a NUL byte, for one, would make PostgreSQL refuse the query. */
const TOKEN = /^[\x21-\x7e]{1,4096}$/;

/**
 * The stored token behind what a client sent, by the rules of better-auth's bearer plugin: the token itself, or the value of
 * its cookie, `<token>.<signature>`, also percent-encoded, whose signature must be good.
 *
 * @param given What the client sent.
 * @param secret Signs cookies.
 * @returns The token to look up, or `undefined` when it cannot be one; a promise where Web Crypto has to check a signature.
 */
export function readSessionToken(
  given: unknown,
  secret: string,
): string | undefined | Promise<string | undefined> {
  if (typeof given !== "string" || !TOKEN.test(given)) return undefined;
  return given.includes(".") ? readSignedToken(given, secret) : given;
}

/**
 * Returns the stored token behind the value of better-auth's cookie, `<token>.<signature>`, also percent-encoded.
 *
 * @param given The cookie's value.
 * @param secret Signs cookies.
 * @returns The token, or `undefined` when the signature is not good; a promise where Web Crypto has to check it.
 */
export function readSignedToken(
  given: string,
  secret: string,
): string | undefined | Promise<string | undefined> {
  const signed = decodePercent(given);
  const [token, base64 = "", ...rest] = signed.split(".");
  if (rest.length > 0 || !TOKEN.test(token)) return undefined;
  const signature = decodeBase64(base64);
  if (signature?.length !== HMAC_BYTES.sha256) return undefined;
  const matches = verifyHmac("sha256", [{ text: secret, encoding: "utf8" }], [token], [signature]);
  if (matches instanceof Promise) return matches.then((isGood) => isGood ? token : undefined);
  return matches ? token : undefined;
}

/** Decodes a percent-encoded text; one that is malformed is left as it is. */
export function decodePercent(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
