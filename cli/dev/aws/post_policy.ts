import { Buffer } from "node:buffer";
import { checkSignature } from "./signature.ts";
import { denied, S3Error } from "./s3_error.ts";

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
