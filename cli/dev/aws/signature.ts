import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { denied, S3Error } from "./s3_error.ts";

const ALGORITHM = "AWS4-HMAC-SHA256";

/**
 * Checks a signature over a text (AWS Signature Version 4).
 *
 * @param text The string to sign.
 * @param credential `<access key>/<date>/<region>/s3/aws4_request`
 * @param signature Hexadecimal.
 * @param secret The secret key; `undefined` if it is not known, as with a profile: nothing is checked.
 * @throws {S3Error} If it is another one.
 */
export function checkSignature(
  text: string,
  credential: string,
  signature: string,
  secret: string | undefined,
): void {
  if (secret === undefined) return;
  const [date = "", region = "", service = "", end = ""] = credential.split("/").slice(-4);
  const key = [date, region, service, end].reduce<string | Buffer>(
    (secretKey, part) => createHmac("sha256", secretKey).update(part).digest(),
    `AWS4${secret}`,
  );
  const expected = Buffer.from(createHmac("sha256", key).update(text).digest("hex"));
  const given = Buffer.from(signature);
  if (given.length === expected.length && timingSafeEqual(given, expected)) return;
  throw new S3Error(
    403,
    "SignatureDoesNotMatch",
    "The request is not the one that was signed: compare method, key and signed headers, such as " +
      "Content-Type and Content-Length",
  );
}

/**
 * Checks a presigned URL: that it has not expired, and that method, path and signed headers are those
 * that were signed.
 *
 * @param query Its query string.
 * @param secret The secret key, if it is known.
 * @throws {S3Error} If S3 would refuse the request.
 */
export function checkPresignedUrl(
  request: IncomingMessage,
  query: URLSearchParams,
  secret: string | undefined,
): void {
  const date = query.get("X-Amz-Date") ?? "";
  const signedAt = parseDate(date);
  const seconds = Number(query.get("X-Amz-Expires"));
  if (!(Date.now() < signedAt + seconds * 1000)) throw denied("Request has expired");
  const credential = query.get("X-Amz-Credential") ?? "";
  const signedHeaders = (query.get("X-Amz-SignedHeaders") ?? "").split(";");
  const [path] = (request.url ?? "").split("?", 1);
  const canonical = [
    request.method,
    path,
    canonicalQuery(query),
    ...signedHeaders.map((name) => `${name}:${String(request.headers[name] ?? "").trim()}`),
    "",
    signedHeaders.join(";"),
    query.get("X-Amz-Content-Sha256") ?? "UNSIGNED-PAYLOAD",
  ].join("\n");
  const scope = credential.split("/").slice(1).join("/");
  const hash = createHash("sha256").update(canonical).digest("hex");
  const text = [ALGORITHM, date, scope, hash].join("\n");
  checkSignature(text, credential, query.get("X-Amz-Signature") ?? "", secret);
}

/** Parses `20260101T120000Z`. */
function parseDate(text: string): number {
  const [date, time = ""] = text.split("T");
  return Date.parse(
    `${date.slice(0, 4)}-${date.slice(4, 6)}-${date.slice(6, 8)}T` +
      `${time.slice(0, 2)}:${time.slice(2, 4)}:${time.slice(4, 6)}Z`,
  );
}

function canonicalQuery(query: URLSearchParams): string {
  return [...query].filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => `${encode(name)}=${encode(value)}`).sort().join("&");
}

/** Encodes as RFC 3986 asks for. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
