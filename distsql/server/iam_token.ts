import { timingSafeEqual } from "node:crypto";
import { signQuery } from "../../database/providers/iam_token.ts";

/** IAM principal that can sign tokens for the server. */
export interface DistSqlPrincipal {
  /** Access key id. */
  readonly accessKeyId: string;
  /** Secret access key. */
  readonly secretAccessKey: string;
  /** Session token that its tokens must contain, if set. */
  readonly sessionToken?: string;
  /** ARN for `AWS IAM GRANT role TO 'arn'`. */
  readonly arn: string;
  /**
   * Actions that the principal's policy allows.
   *
   * @default ["DbConnect", "DbConnectAdmin"]
   */
  readonly actions?: readonly DistSqlIamAction[];
}

/** IAM actions of the provider: one for roles, one for `admin`. */
export type DistSqlIamAction = "DbConnect" | "DbConnectAdmin";

/** Reason why a token was rejected. Clients can only distinguish `expired`. */
export type TokenFault =
  | "malformed"
  | "host"
  | "action"
  | "unknown-key"
  | "session-token"
  | "region"
  | "signature"
  | "not-yet-valid"
  | "expired"
  | "not-allowed";

/** Expected properties of a token. */
export interface TokenExpectation {
  readonly user: string;
  readonly hostname: string;
  readonly region: string;
  readonly principals: readonly DistSqlPrincipal[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** One week, the maximum of Signature Version 4 for a presigned request. */
const MAX_EXPIRES_SECONDS = 604_800;

/**
 * Allowed clock skew: a token from up to five minutes in the future is accepted, as by AWS
 * services.
 */
const CLOCK_SKEW_MS = 5 * 60_000;

function parseAmzDate(date: string): number {
  const match = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date);
  if (!match) return Number.NaN;
  const [year, month, day, hour, minute, second] = match.slice(1).map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

function parseTokenUrl(token: string): URL | undefined {
  try {
    return new URL(`https://${token}`);
  } catch {
    return undefined;
  }
}

/**
 * Checks an authentication token: a presigned URL without its scheme, as created by
 * `@aws-sdk/dsql-signer`.
 *
 * `admin` needs a `DbConnectAdmin` token, every other role a `DbConnect` one. The signature is
 * recomputed with the principal's secret, so a modified token is rejected.
 *
 * @param token The client's password.
 * @param expected User, host, region and known principals.
 * @returns The principal that signed the token, or the fault.
 */
export function checkIamToken(
  token: string,
  expected: TokenExpectation,
): { principal: DistSqlPrincipal } | { fault: TokenFault } {
  const url = parseTokenUrl(token);
  if (!url) return { fault: "malformed" };
  const parameter = (name: string): string => url.searchParams.get(name) ?? "";
  const [accessKeyId, ...scope] = parameter("X-Amz-Credential").split("/");
  if (
    parameter("X-Amz-Algorithm") !== "AWS4-HMAC-SHA256" ||
    parameter("X-Amz-SignedHeaders") !== "host" ||
    scope.length !== 4 || scope[2] !== "dsql" || scope[3] !== "aws4_request"
  ) return { fault: "malformed" };
  if (url.host !== expected.hostname) return { fault: "host" };
  const action: DistSqlIamAction = expected.user === "admin" ? "DbConnectAdmin" : "DbConnect";
  if (parameter("Action") !== action) return { fault: "action" };
  const principal = expected.principals.find((known) => known.accessKeyId === accessKeyId);
  if (!principal) return { fault: "unknown-key" };
  if (parameter("X-Amz-Security-Token") !== (principal.sessionToken ?? "")) {
    return { fault: "session-token" };
  }
  if (scope[1] !== expected.region) return { fault: "region" };
  const date = parameter("X-Amz-Date");
  const signature = new TextEncoder().encode(parameter("X-Amz-Signature"));
  const signed = [...url.searchParams].filter(([name]) => name !== "X-Amz-Signature");
  const { secretAccessKey } = principal;
  const wanted = new TextEncoder().encode(
    signQuery(url.host, signed, { scope, date, secretAccessKey }).signature,
  );
  if (signature.length !== wanted.length || !timingSafeEqual(signature, wanted)) {
    return { fault: "signature" };
  }
  const signedAt = parseAmzDate(date);
  const expiresSeconds = Number(parameter("X-Amz-Expires"));
  if (Number.isNaN(signedAt) || scope[0] !== date.slice(0, 8)) return { fault: "malformed" };
  if (!(expiresSeconds >= 0 && expiresSeconds <= MAX_EXPIRES_SECONDS)) {
    return { fault: "malformed" };
  }
  if (signedAt > expected.now + CLOCK_SKEW_MS) return { fault: "not-yet-valid" };
  if (expected.now >= signedAt + expiresSeconds * 1000) return { fault: "expired" };
  if (!(principal.actions ?? ["DbConnect", "DbConnectAdmin"]).includes(action)) {
    return { fault: "not-allowed" };
  }
  return { principal };
}
