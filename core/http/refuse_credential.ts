import { UnauthorizedError } from "../../errors/http_errors.ts";
import { UserStatus } from "./user_status.ts";

/** Why a credential is refused: the same words for every kind of credential. */
export type RefusalReason =
  | "bad signature"
  | "banned user"
  | "disabled"
  | "expired"
  | "malformed"
  | "no credential"
  | "refused by the authorizer"
  | "unknown"
  | "unknown owner"
  | "unknown signing key"
  | "wrong algorithm"
  | "wrong configuration"
  | `claim ${string}`;

/**
 * Returns the error of a refused credential. Its reason is in the log line of the request and never in the answer, so
 * that clients cannot find out which credentials exist.
 *
 * @param reason For the log. It must not contain the credential.
 * @param message Shown to the client.
 * @param headers Headers of the response.
 */
export function refuseCredential(
  reason: RefusalReason,
  message: string,
  headers?: Readonly<Record<string, string>>,
): UnauthorizedError {
  return new UnauthorizedError(message, { details: { reason }, headers });
}

/** Returns the reason for a caller whom the gateway's authorizer did not authenticate. Only the authorizer knows more. */
export function getAuthorizerReason(userStatus: unknown): RefusalReason {
  return userStatus === UserStatus.Unauthenticated ? "refused by the authorizer" : "no credential";
}
