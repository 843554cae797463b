import { decodePercent } from "../../core/http/percent_encoding.ts";
import { decodeBase64 } from "../webhooks/webhook_input.ts";
import { HMAC_BYTES, verifyHmac } from "../../core/http/hmac.ts";

/** Visible ASCII characters. PostgreSQL would reject a NUL byte, for example. */
const TOKEN = /^[\x21-\x7e]{1,4096}$/;

/**
 * Returns the stored token for a client's value, like better-auth's bearer plugin: the token
 * itself, or the cookie's value `<token>.<signature>` with a valid signature, also percent-encoded.
 *
 * @param given The client's value.
 * @param secret Secret of the cookie signature.
 * @returns The token, or `undefined` if it is malformed. A promise if Web Crypto checks the
 * signature.
 */
export function readSessionToken(
  given: unknown,
  secret: string,
): string | undefined | Promise<string | undefined> {
  if (typeof given !== "string" || !TOKEN.test(given)) return undefined;
  return given.includes(".") ? readSignedToken(given, secret) : given;
}

/**
 * Returns the stored token for the value of better-auth's cookie, `<token>.<signature>`, also
 * percent-encoded.
 *
 * @param given The cookie's value.
 * @param secret Secret of the cookie signature.
 * @returns The token, or `undefined` if the signature is invalid. A promise if Web Crypto checks
 * it.
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
