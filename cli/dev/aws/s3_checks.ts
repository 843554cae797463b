import { Buffer } from "node:buffer";
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { encodePercent } from "../../../core/http/percent_encoding.ts";

/** An error in the format of S3, which clients throw. */
export class S3Error extends Error {
  /**
   * @param status Status of the response.
   * @param message What is wrong.
   */
  constructor(readonly status: number, readonly code: string, message: string) {
    super(message);
  }

  /** Returns the body of the response. */
  toXml(): string {
    const message = this.message.replace(/[&<>]/g, (char) => `&#${char.charCodeAt(0)};`);
    return `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${this.code}</Code>` +
      `<Message>${message}</Message></Error>`;
  }
}

/** Creates the error of a request that S3 does not allow. */
function denied(message: string): S3Error {
  return new S3Error(403, "AccessDenied", message);
}

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
function checkSignature(
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
    .map(([name, value]) => `${encodePercent(name)}=${encodePercent(value)}`).sort().join("&");
}

/** Fields that need no condition. */
const FREE = new Set(["policy", "x-amz-signature", "file", "bucket"]);

/** A form that was sent, with its fields in lower case. */
export interface PostedForm {
  readonly bucket: string;
  readonly fields: ReadonlyMap<string, string>;
  /** Size of the file in bytes. */
  readonly size: number;
}

/**
 * Checks a form by its policy, as S3 does: signature, expiration, the conditions, and that every field
 * has one (Amazon S3 API Reference, POST policy, 2026-11).
 *
 * @param secret The secret key, if it is known.
 * @throws {S3Error} If S3 would refuse the form.
 */
export function checkPolicy(
  { bucket, fields, size }: PostedForm,
  secret: string | undefined,
): void {
  const encoded = fields.get("policy");
  if (encoded === undefined) throw denied("The form has no policy");
  const credential = fields.get("x-amz-credential") ?? "";
  checkSignature(encoded, credential, fields.get("x-amz-signature") ?? "", secret);
  const policy = readPolicy(encoded);
  if (!(Date.now() < Date.parse(policy.expiration))) {
    throw denied("Invalid according to Policy: Policy expired.");
  }
  const known = new Set<string>(FREE);
  for (const condition of policy.conditions) {
    for (const [operator, name, operand] of toTriples(condition)) {
      if (operator === "content-length-range") {
        checkSize(size, Number(name), Number(operand));
        continue;
      }
      const field = String(name).replace(/^\$/, "").toLowerCase();
      known.add(field);
      const value = field === "bucket" ? bucket : fields.get(field) ?? "";
      const fits = operator === "eq"
        ? value === String(operand)
        : operator === "starts-with" && value.startsWith(String(operand));
      if (!fits) {
        throw denied(
          `Invalid according to Policy: Policy Condition failed: ${JSON.stringify(condition)}`,
        );
      }
    }
  }
  const extra = [...fields.keys()].find((name) =>
    !known.has(name) && !name.startsWith("x-ignore-")
  );
  if (extra !== undefined) {
    throw denied(`Invalid according to Policy: Extra input fields: ${extra}`);
  }
}

type Triple = readonly [operator: string, name: unknown, operand: unknown];

interface Policy {
  readonly expiration: string;
  readonly conditions: readonly unknown[];
}

function readPolicy(encoded: string): Policy {
  try {
    const policy = JSON.parse(Buffer.from(encoded, "base64").toString("utf8"));
    if (Array.isArray(policy.conditions)) return policy;
  } catch {
    // no JSON
  }
  throw new S3Error(400, "InvalidPolicyDocument", "The policy is no JSON with conditions");
}

/** Conditions are triples, or objects that ask for equality. */
function toTriples(condition: unknown): Triple[] {
  if (Array.isArray(condition)) return [condition as Triple & unknown[]];
  return Object.entries(condition as object).map(([name, value]) => ["eq", `$${name}`, value]);
}

function checkSize(size: number, least: number, most: number): void {
  if (size > most) {
    throw new S3Error(
      400,
      "EntityTooLarge",
      `Your proposed upload exceeds the maximum allowed size: ${size} of ${most} bytes`,
    );
  }
  if (size < least) {
    throw new S3Error(
      400,
      "EntityTooSmall",
      `Your proposed upload is smaller than the minimum allowed size: ${size} of ${least} bytes`,
    );
  }
}
